import { isObject, type JsonObject, listOf, objectOf, parseJson, textOf } from '../../json.ts'
import type { Conversation, Part, TextPart, ToolCallPart, ToolResultPart, Turn } from '../canonical/conversation.ts'
import { invalid, unsupported } from '../canonical/refuse.ts'
import { refuseLargeArguments } from './argument-bounds.ts'
import { readContent, readTexts, textPart } from './read-conversation-parts.ts'
import { readSignature } from './signature.ts'

type Messages = Pick<Conversation, 'system' | 'turns'>

/** JSON text of an object. Some models, and so their histories, leave out the arguments of a call that has none. */
const readArguments = (given: unknown, path: string): string => {
  const text = textOf(given)
  if (text.trim() === '') return '{}'
  if (isObject(parseJson(text))) return text
  throw invalid(path, 'must be the JSON text of an object')
}

const readToolCall = (value: unknown, path: string): ToolCallPart => {
  const call = objectOf(value)
  if (call['type'] === 'custom') throw unsupported(`${path}.type`, "'custom' is not available for this model")
  const { name, arguments: given } = objectOf(call['function'])
  return {
    type: 'tool_call',
    id: textOf(call['id']),
    name: textOf(name),
    arguments: readArguments(given, `${path}.function.arguments`),
    signature: readSignature(call),
    cached: null,
  }
}

/** The deprecated form names no ids: the message's place makes one. */
const readFunctionCall = (call: JsonObject, index: number): ToolCallPart => ({
  type: 'tool_call',
  id: `call_${index}`,
  name: textOf(call['name']),
  arguments: readArguments(call['arguments'], `messages[${index}].function_call.arguments`),
  signature: null,
  cached: null,
})

const readCalls = (message: JsonObject, index: number): readonly ToolCallPart[] => {
  const { tool_calls, function_call } = message
  const calls = listOf(tool_calls).map((call, place) => readToolCall(call, `messages[${index}].tool_calls[${place}]`))
  return isObject(function_call) ? [...calls, readFunctionCall(function_call, index)] : calls
}

const readAssistant = (message: JsonObject, index: number): readonly Part[] => {
  const path = `messages[${index}]`
  if (isObject(message['audio'])) throw unsupported(`${path}.audio`, 'is not available for this model')
  const thought = textOf(message['reasoning_content'])
  const refusal = textOf(message['refusal'])
  return [
    ...(thought === '' ? [] : [{ type: 'thinking', text: thought, signature: null } as const]),
    ...readTexts(message['content'], path),
    ...(refusal === '' ? [] : [textPart(refusal)]),
    ...readCalls(message, index),
  ]
}

const readResultParts = (message: JsonObject, path: string): ToolResultPart['parts'] =>
  readContent(message['content'], path).flatMap((part, place) => {
    if (part.type === 'audio') throw unsupported(`${path}.content[${place}]`, 'must not be audio in a tool message')
    return part.type === 'text' && part.text === '' ? [] : [part]
  })

/** Builds the turns message by message. */
class Transcript implements Messages {
  readonly system: TextPart[] = []
  readonly turns: Turn[] = []
  readonly #callIds = new Set<string>()
  #lastFunctionCall: ToolCallPart | null = null
  /** The turn of results that the next result joins. */
  #results: ToolResultPart[] | null = null

  add(message: JsonObject, index: number): void {
    const path = `messages[${index}]`
    const { role, content } = message
    if (role === 'system' || role === 'developer') this.#instruct(readTexts(content, path))
    else if (role === 'assistant') this.#answer(readAssistant(message, index))
    else if (role === 'tool') this.#addResult(this.#calledId(message, path), readResultParts(message, path))
    else if (role === 'function') this.#addResult(this.#functionCallId(message, path), readResultParts(message, path))
    else this.#push('user', readContent(content, path))
  }

  #push(role: Turn['role'], parts: readonly Part[]): void {
    if (parts.length === 0) return
    this.turns.push({ role, parts })
    this.#results = null
  }

  #instruct(texts: readonly TextPart[]): void {
    if (this.turns.length > 0) this.#push('system', texts)
    else for (const text of texts) this.system.push(text)
  }

  #answer(parts: readonly Part[]): void {
    const calls = parts.filter((part) => part.type === 'tool_call')
    for (const { id } of calls) this.#callIds.add(id)
    this.#lastFunctionCall = calls.at(-1) ?? null
    this.#push('assistant', parts)
  }

  #calledId({ tool_call_id }: JsonObject, path: string): string {
    const id = textOf(tool_call_id)
    if (this.#callIds.has(id)) return id
    throw invalid(`${path}.tool_call_id`, 'no earlier assistant message made this tool call')
  }

  #functionCallId({ name }: JsonObject, path: string): string {
    const call = this.#lastFunctionCall
    if (call !== null && call.name === name) return call.id
    throw invalid(`${path}.name`, 'the last assistant message did not call this function')
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

export const readMessages = (messages: readonly unknown[]): Messages => {
  refuseLargeArguments(messages)
  const transcript = new Transcript()
  messages.forEach((message, index) => {
    transcript.add(objectOf(message), index)
  })
  return { system: transcript.system, turns: transcript.turns }
}
