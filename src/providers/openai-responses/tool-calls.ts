import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../../json.ts'
import { limits } from '../../limits.ts'
import { type BilledTool, billedTool, billedToolsOf } from './tools.ts'

export type ToolCalls = Usage['toolCalls']

const callSuffix = '_call'
/** As xAI tells of its searches on X. */
const xSearches: readonly unknown[] = ['x_user_search', 'x_keyword_search', 'x_semantic_search', 'x_thread_fetch']

const itemTypeOf = ({ type, name }: JsonObject): string =>
  type === 'custom_tool_call' && xSearches.includes(name) ? 'x_search_call' : textOf(type)

const isCompleted = ({ status }: JsonObject): boolean => status === 'completed'

/** To open a page, or to look for words in it, is part of the search that found it. */
const isSearch = (item: JsonObject): boolean =>
  isCompleted(item) && (objectOf(item['action'])['type'] ?? 'search') === 'search'

/** An image that is there was made, whatever its status says by then. */
const hasImage = (item: JsonObject): boolean => isCompleted(item) || textOf(item['result']) !== ''

/** A container costs what it costs, whether the code in it failed or not. */
const isBilled: ReadonlyMap<string, (item: JsonObject) => boolean> = new Map([
  ['web_search_call', isSearch],
  ['file_search_call', isCompleted],
  ['x_search_call', isCompleted],
  ['code_interpreter_call', () => true],
  ['image_generation_call', hasImage],
])

const narrowed = (items: readonly string[], wanted: string): readonly string[] => {
  const matching = items.filter((item) => `${item}_`.includes(`_${wanted}_`))
  return matching.length > 0 ? matching : items
}

/** What an image turned out to be; the dearest where the answer does not tell. */
const itemOf = (item: JsonObject, { items }: BilledTool): string => {
  const ofQuality = narrowed(items, textOf(item['quality']))
  return narrowed(ofQuality, textOf(item['size'])).at(-1) ?? ''
}

/** An answer may tell of a tool that was not declared: it is billed as that tool is when nothing more is said of it. */
const undeclared = (itemType: string): BilledTool | null => billedTool({ type: itemType.slice(0, -callSuffix.length) })

/** Counts the calls of built-in tools among the items of an answer, by the names their prices have. */
export class ToolTally {
  readonly #declared: readonly BilledTool[]
  readonly #calls = new Map<string, number>()
  readonly #sessions = new Set<string>()

  constructor(body: JsonObject) {
    this.#declared = billedToolsOf(body)
  }

  add(item: unknown): void {
    if (!isObject(item)) return
    const itemType = itemTypeOf(item)
    if (isBilled.get(itemType)?.(item) !== true) return
    const tool = this.#declared.find((declared) => declared.itemType === itemType) ?? undeclared(itemType)
    if (tool !== null && (itemType !== 'code_interpreter_call' || this.#isNewSession(item)))
      this.#count(itemOf(item, tool))
  }

  get calls(): ToolCalls {
    return Object.fromEntries(this.#calls)
  }

  /** A container is billed once, however often code runs in it. */
  #isNewSession(item: JsonObject): boolean {
    const session = textOf(item['container_id'] ?? item['id'])
    const isNew = !this.#sessions.has(session)
    if (this.#sessions.size < limits.upstreamOutputItemsMax) this.#sessions.add(session)
    return isNew
  }

  #count(name: string): void {
    this.#calls.set(name, (this.#calls.get(name) ?? 0) + 1)
  }
}

/** The calls that an answer's items tell of. */
export const countToolCalls = (body: JsonObject, output: unknown): ToolCalls => {
  const tally = new ToolTally(body)
  for (const item of listOf(output)) tally.add(item)
  return tally.calls
}
