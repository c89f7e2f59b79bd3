import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import { eachInSteps } from '../../encoding/steps.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import { ArgumentBounds } from '../canonical/argument-bounds.ts'
import type {
  Conversation,
  ConversationPart,
  ConversationTurn,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import { readArguments } from '../openai/read-conversation-messages.ts'
import { readAudio, readFile, readImage, readTextPart, type UserPart } from '../openai/read-conversation-parts.ts'
import { openSealedReasoning } from './sealed-reasoning.ts'

type Messages = Pick<Conversation, 'system' | 'turns'>
type Role = ConversationTurn['role']

const readDocument = (part: JsonObject, path: string): UserPart =>
  typeof part['file_url'] === 'string'
    ? { type: 'document', source: { url: part['file_url'] }, title: asText(part['filename']) || null, cached: null }
    : readFile(part, path, `${path}.file_data`)

const readPart = (value: unknown, path: string): UserPart => {
  const part = asObject(value)
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return readTextPart(asText(part['text']))
    case 'refusal':
      return readTextPart(asText(part['refusal']))
    case 'input_image':
      return readImage({ url: part['image_url'], detail: part['detail'] }, `${path}.image_url`)
    case 'input_file':
      return readDocument(part, path)
    case 'input_audio':
      return readAudio(asObject(part['input_audio']), path)
    default:
      throw unsupported(`${path}.type`, `'${asText(part['type'])}' is not available for this model`)
  }
}

const readParts = (content: unknown, path: string): readonly UserPart[] =>
  typeof content === 'string'
    ? [readTextPart(content)]
    : asArray(content).map((part, index) => readPart(part, `${path}[${index}]`))

const isFilledText = (part: UserPart): part is TextPart => part.type === 'text' && part.text !== ''

const readTexts = (content: unknown, path: string): readonly TextPart[] => {
  const parts = readParts(content, path)
  const other = parts.findIndex(({ type }) => type !== 'text')
  if (other >= 0) throw unsupported(`${path}[${other}]`, 'must be text in a message of this role')
  return parts.filter(isFilledText)
}

const readOutput = (output: unknown, path: string): ToolResultPart['parts'] =>
  readParts(output, path).flatMap((part, index) => {
    if (part.type === 'audio') throw unsupported(`${path}[${index}]`, 'must not be audio in the output of a tool')
    return part.type === 'text' && part.text === '' ? [] : [part]
  })

const nameOfCall = ({ name, namespace }: JsonObject): string =>
  typeof namespace === 'string' ? `${namespace}__${asText(name)}` : asText(name)

/** What the provider's own tools did, or offered: the answer has what came of it. */
const skippedTypes: readonly unknown[] = [
  'web_search_call',
  'file_search_call',
  'x_search_call',
  'image_generation_call',
  'mcp_list_tools',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
]

const outputTypes: readonly unknown[] = ['function_call_output', 'custom_tool_call_output']

class Transcript implements Messages {
  readonly system: TextPart[] = []
  readonly turns: { readonly role: Role; readonly parts: ConversationPart[] }[] = []
  readonly #provider: string
  readonly #callIds = new Set<string>()
  readonly #signatures = new Map<string, string>()

  constructor(provider: string) {
    this.#provider = provider
  }

  add(item: JsonObject, path: string): void {
    const { type = 'message' } = item
    if (type === 'message') this.#addMessage(item, `${path}.content`)
    else if (type === 'reasoning') this.#addReasoning(item)
    else if (type === 'function_call') this.#addCall(item, readArguments(item['arguments'], `${path}.arguments`))
    else if (type === 'custom_tool_call') this.#addCall(item, JSON.stringify({ input: asText(item['input']) }))
    else if (outputTypes.includes(type)) this.#addResult(item, path)
    else if (!skippedTypes.includes(type))
      throw unsupported(`${path}.type`, `'${asText(type)}' is not available for this model`)
  }

  #addMessage({ role, content }: JsonObject, path: string): void {
    if (role === 'assistant') this.#answer(readTexts(content, path))
    else if (role !== 'system' && role !== 'developer') this.#push('user', readParts(content, path))
    else if (this.turns.length > 0) this.#push('system', readTexts(content, path))
    else this.system.push(...readTexts(content, path))
  }

  /** What another provider's model thought is of no use to this one. */
  #addReasoning({ encrypted_content: content }: JsonObject): void {
    const sealed = openSealedReasoning(this.#provider, content)
    if (sealed?.type === 'call_signature') this.#signatures.set(sealed.callId, sealed.signature)
    else if (sealed !== null) this.#answer([sealed])
  }

  #addCall(item: JsonObject, given: string): void {
    const id = asText(item['call_id'])
    this.#callIds.add(id)
    const signature = this.#signatures.get(id) ?? null
    const call: ToolCallPart = {
      type: 'tool_call',
      id,
      name: nameOfCall(item),
      arguments: given,
      signature,
      cached: null,
    }
    this.#answer([call])
  }

  #addResult({ call_id: id, output }: JsonObject, path: string): void {
    const toolCallId = asText(id)
    if (!this.#callIds.has(toolCallId)) throw invalidValue(`${path}.call_id`, 'no earlier item made this tool call')
    const parts = readOutput(output, `${path}.output`)
    const result: ToolResultPart = { type: 'tool_result', toolCallId, parts, isError: false, cached: null }
    const last = this.turns.at(-1)
    if (last?.parts.at(-1)?.type === 'tool_result') last.parts.push(result)
    else this.#push('user', [result])
  }

  /** The items of one answer are one turn. */
  #answer(parts: readonly ConversationPart[]): void {
    const last = this.turns.at(-1)
    if (last?.role === 'assistant') last.parts.push(...parts)
    else this.#push('assistant', parts)
  }

  #push(role: Role, parts: readonly ConversationPart[]): void {
    if (parts.length > 0) this.turns.push({ role, parts: [...parts] })
  }
}

/** `provider`: whose model will read it. What only another one can read is left out. */
export function* readItems({ instructions, input }: JsonObject, provider: string): Generator<void, Messages> {
  const transcript = new Transcript(provider)
  if (asText(instructions) !== '') transcript.system.push(readTextPart(asText(instructions)))
  if (typeof input === 'string') transcript.turns.push({ role: 'user', parts: [readTextPart(input)] })
  const items = asArray(input)
  const bounds = new ArgumentBounds()
  yield* eachInSteps(items, (item, index) => {
    const { type, arguments: given } = asObject(item)
    if (type === 'function_call') bounds.check(asText(given), `input[${index}].arguments`)
  })
  yield* eachInSteps(items, (item, index) => transcript.add(asObject(item), `input[${index}]`))
  return { system: transcript.system, turns: transcript.turns }
}
