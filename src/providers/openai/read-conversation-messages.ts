import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
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
import { readContentParts, readTextPart, readTexts } from './read-conversation-parts.ts'
import { readSignature } from './signature.ts'

interface ArgumentText {
  readonly text: string
  readonly path: string
}

const argumentsIn = ({ tool_calls, function_call }: JsonObject, path: string): readonly ArgumentText[] => [
  ...asArray(tool_calls).map((call, place) => ({
    text: asText(asObject(asObject(call)['function'])['arguments']),
    path: `${path}.tool_calls[${place}].function.arguments`,
  })),
  ...(isObject(function_call)
    ? [{ text: asText(function_call['arguments']), path: `${path}.function_call.arguments` }]
    : []),
]

type Messages = Pick<Conversation, 'system' | 'turns'>

/** JSON text of an object. Some models, and so their histories, leave out the arguments of a call that has none. */
export const readArguments = (given: unknown, path: string): string => {
  const text = asText(given)
  if (text.trim() === '') return '{}'
  if (isObject(parseJson(text))) return text
  throw invalidValue(path, 'must be the JSON text of an object')
}

const readToolCall = (value: unknown, path: string): ToolCallPart => {
  const call = asObject(value)
  if (call['type'] === 'custom') throw unsupported(`${path}.type`, "'custom' is not available for this model")
  const { name, arguments: given } = asObject(call['function'])
  return {
    type: 'tool_call',
    id: asText(call['id']),
    name: asText(name),
    arguments: readArguments(given, `${path}.function.arguments`),
    signature: readSignature(call),
    cached: null,
  }
}

/** The deprecated form has no ids: the message's index makes one. */
const readFunctionCall = (call: JsonObject, index: number): ToolCallPart => ({
  type: 'tool_call',
  id: `call_${index}`,
  name: asText(call['name']),
  arguments: readArguments(call['arguments'], `messages[${index}].function_call.arguments`),
  signature: null,
  cached: null,
})

const readCalls = (message: JsonObject, index: number): readonly ToolCallPart[] => {
  const { tool_calls, function_call } = message
  const calls = asArray(tool_calls).map((call, place) => readToolCall(call, `messages[${index}].tool_calls[${place}]`))
  return isObject(function_call) ? [...calls, readFunctionCall(function_call, index)] : calls
}

const readAssistant = (message: JsonObject, index: number): readonly ConversationPart[] => {
  const path = `messages[${index}]`
  if (isObject(message['audio'])) throw unsupported(`${path}.audio`, 'is not available for this model')
  const thought = asText(message['reasoning_content'])
  const refusal = asText(message['refusal'])
  return [
    ...(thought === '' ? [] : [{ type: 'thinking', text: thought, signature: null } as const]),
    ...readTexts(message['content'], path),
    ...(refusal === '' ? [] : [readTextPart(refusal)]),
    ...readCalls(message, index),
  ]
}

const readResultParts = (message: JsonObject, path: string): ToolResultPart['parts'] =>
  readContentParts(message['content'], path).flatMap((part, place) => {
    if (part.type === 'audio') throw unsupported(`${path}.content[${place}]`, 'must not be audio in a tool message')
    return part.type === 'text' && part.text === '' ? [] : [part]
  })

class Transcript implements Messages {
  readonly system: TextPart[] = []
  readonly turns: ConversationTurn[] = []
  readonly #callIds = new Set<string>()
  #lastFunctionCall: ToolCallPart | null = null
  #results: ToolResultPart[] | null = null

  add(message: JsonObject, index: number): void {
    const path = `messages[${index}]`
    const { role, content } = message
    if (role === 'system' || role === 'developer') this.#instruct(readTexts(content, path))
    else if (role === 'assistant') this.#answer(readAssistant(message, index))
    else if (role === 'tool') this.#addResult(this.#calledId(message, path), readResultParts(message, path))
    else if (role === 'function') this.#addResult(this.#functionCallId(message, path), readResultParts(message, path))
    else this.#push('user', readContentParts(content, path))
  }

  #push(role: ConversationTurn['role'], parts: readonly ConversationPart[]): void {
    if (parts.length === 0) return
    this.turns.push({ role, parts })
    this.#results = null
  }

  #instruct(texts: readonly TextPart[]): void {
    if (this.turns.length > 0) this.#push('system', texts)
    else for (const text of texts) this.system.push(text)
  }

  #answer(parts: readonly ConversationPart[]): void {
    const calls = parts.filter((part) => part.type === 'tool_call')
    for (const { id } of calls) this.#callIds.add(id)
    this.#lastFunctionCall = calls.at(-1) ?? null
    this.#push('assistant', parts)
  }

  #calledId({ tool_call_id }: JsonObject, path: string): string {
    const id = asText(tool_call_id)
    if (this.#callIds.has(id)) return id
    throw invalidValue(`${path}.tool_call_id`, 'no earlier assistant message made this tool call')
  }

  #functionCallId({ name }: JsonObject, path: string): string {
    const call = this.#lastFunctionCall
    if (call !== null && call.name === name) return call.id
    throw invalidValue(`${path}.name`, 'the last assistant message did not call this function')
  }

  /** The results of parallel calls are one turn. */
  #addResult(toolCallId: string, parts: ToolResultPart['parts']): void {
    const result: ToolResultPart = { type: 'tool_result', toolCallId, parts, isError: false, cached: null }
    if (this.#results !== null) {
      this.#results.push(result)
      return
    }
    const results = [result]
    this.#push('user', results)
    this.#results = results
  }
}

export function* readMessages(messages: readonly unknown[]): Generator<void, Messages> {
  const bounds = new ArgumentBounds()
  yield* eachInSteps(messages, (message, index) => {
    for (const { text, path } of argumentsIn(asObject(message), `messages[${index}]`)) bounds.check(text, path)
  })
  const transcript = new Transcript()
  yield* eachInSteps(messages, (message, index) => transcript.add(asObject(message), index))
  return { system: transcript.system, turns: transcript.turns }
}
