import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { providerLimits } from '../dialect/limits.ts'
import { ImageReading, imageCallType } from './image-tool.ts'
import { type BilledTool, billedTool, billedToolsOf } from './tools.ts'

export type ToolCalls = Usage['toolCalls']

const callSuffix = '_call'
const xSearches: readonly unknown[] = ['x_user_search', 'x_keyword_search', 'x_semantic_search', 'x_thread_fetch']

const codeCallType = 'code_interpreter_call'

export const itemTypeOf = ({ type, name }: JsonObject): string =>
  type === 'custom_tool_call' && xSearches.includes(name) ? 'x_search_call' : asText(type)

const isCompleted = ({ status }: JsonObject): boolean => status === 'completed'

/** Opening a page, or searching in it, is part of the search that found it. */
const isSearch = (item: JsonObject): boolean =>
  isCompleted(item) && (asObject(item['action'])['type'] ?? 'search') === 'search'

/** An image that is present was made, whatever its status is by then. */
const hasImage = (item: JsonObject): boolean => isCompleted(item) || asText(item['result']) !== ''

/** A container is charged whether the code in it failed or not. */
const isBilled: ReadonlyMap<string, (item: JsonObject) => boolean> = new Map([
  ['web_search_call', isSearch],
  ['file_search_call', isCompleted],
  ['x_search_call', isCompleted],
  [codeCallType, () => true],
  [imageCallType, hasImage],
])

export const isBilledType = (itemType: string): boolean => isBilled.has(itemType)

const narrowed = (items: readonly string[], wanted: string): readonly string[] => {
  const matching = items.filter((item) => `${item}_`.includes(`_${wanted}_`))
  return matching.length > 0 ? matching : items
}

/** What an image may be billed as, as far as the answer shows: from the cheapest to the most expensive. */
const itemsOf = (item: JsonObject, { items }: BilledTool): readonly string[] => {
  const ofQuality = narrowed(items, asText(item['quality']))
  return narrowed(ofQuality, asText(item['size']))
}

/** An answer may call an undeclared tool: it is billed like that tool declared without further members. */
const undeclared = (itemType: string): BilledTool | null => billedTool({ type: itemType.slice(0, -callSuffix.length) })

const addTo = (sums: Map<string, number>, added: ToolCalls): void => {
  for (const [name, count] of Object.entries(added)) sums.set(name, (sums.get(name) ?? 0) + count)
}

export class ToolTally {
  readonly #declared: readonly BilledTool[]
  readonly #imageReading: ImageReading
  readonly #calls = new Map<string, number>()
  readonly #sessions = new Set<string>()
  readonly #leastRead = new Map<string, number>()
  #reportedCalls: ToolCalls | null = null

  private constructor(declared: readonly BilledTool[], imageReading: ImageReading) {
    this.#declared = declared
    this.#imageReading = imageReading
  }

  static of(body: JsonObject): ToolTally {
    return new ToolTally(billedToolsOf(body), new ImageReading(body))
  }

  get calls(): ToolCalls {
    return { ...Object.fromEntries(this.#calls), ...(this.#reportedCalls ?? Object.fromEntries(this.#leastRead)) }
  }

  /** An item at its end: what it leaves open is billed as the most expensive. */
  add(item: unknown): void {
    if (isObject(item)) this.#add(item, -1)
  }

  /** An unfinished item: what it leaves open is billed as the least that it can turn out to be. */
  addOpen(item: JsonObject): void {
    const isSessionUnknown = itemTypeOf(item) === codeCallType && !item['container_id'] && this.#sessions.size > 0
    if (!isSessionUnknown) this.#add(item, 0)
  }

  addUsage(toolUsage: unknown): void {
    this.#reportedCalls = this.#imageReading.reported(toolUsage)
  }

  emptied(): ToolTally {
    return new ToolTally(this.#declared, this.#imageReading)
  }

  copy(): ToolTally {
    const tally = this.emptied()
    addTo(tally.#calls, Object.fromEntries(this.#calls))
    addTo(tally.#leastRead, Object.fromEntries(this.#leastRead))
    for (const session of this.#sessions) tally.#sessions.add(session)
    tally.#reportedCalls = this.#reportedCalls
    return tally
  }

  #add(item: JsonObject, place: 0 | -1): void {
    const itemType = itemTypeOf(item)
    if (isBilled.get(itemType)?.(item) !== true) return
    const tool = this.#declared.find((declared) => declared.itemType === itemType) ?? undeclared(itemType)
    if (tool === null || (itemType === codeCallType && !this.#isNewSession(item))) return
    addTo(this.#calls, { [itemsOf(item, tool).at(place) ?? '']: 1 })
    if (itemType === imageCallType && place === -1) addTo(this.#leastRead, this.#imageReading.least(item))
  }

  /** A container is billed once, however often code runs in it. */
  #isNewSession(item: JsonObject): boolean {
    const session = asText(item['container_id'] ?? item['id'])
    const isNew = !this.#sessions.has(session)
    if (this.#sessions.size < providerLimits.upstreamOutputItemsMax) this.#sessions.add(session)
    return isNew
  }
}

export const countToolCalls = (body: JsonObject, output: unknown, toolUsage?: unknown): ToolCalls => {
  const tally = ToolTally.of(body)
  for (const item of asArray(output)) tally.add(item)
  tally.addUsage(toolUsage)
  return tally.calls
}
