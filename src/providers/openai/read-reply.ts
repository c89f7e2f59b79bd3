import { isObject, type JsonObject, listOf, objectOf, textOf } from '../../json.ts'
import type { Citation, Reply, ReplyPart, StopReason } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect.ts'
import { readSignature } from './signature.ts'
import { readUsage } from './usage.ts'

/** The upstream's id without the prefix that every chat answer has. */
export const replyId = ({ id }: JsonObject): string => textOf(id).replace(/^chatcmpl-/, '')

const stopReasons = new Map<string, StopReason>([
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'filtered'],
])

/** Some upstreams say `stop` where the answer calls tools. */
export const stopReasonOf = (
  finishReason: string,
  said: { readonly calls: boolean; readonly refusal: boolean },
): StopReason => {
  const reason = stopReasons.get(finishReason) ?? 'end'
  if (reason !== 'end') return reason
  if (said.refusal) return 'filtered'
  return said.calls ? 'tool_calls' : 'end'
}

const partText = (part: unknown): string => textOf(objectOf(part)['text'])

/** Of a message or of a delta. */
export const contentText = ({ content }: JsonObject): string =>
  typeof content === 'string' ? content : listOf(content).map(partText).join('')

export const reasoningText = (message: JsonObject): string =>
  textOf(message['reasoning_content'] ?? message['reasoning'])

const rangeOf = ({ start_index, end_index }: JsonObject): Citation['range'] =>
  typeof start_index === 'number' && typeof end_index === 'number' ? { start: start_index, end: end_index } : null

const readCitation = (annotation: unknown): readonly Citation[] => {
  const cited = objectOf(annotation)['url_citation']
  if (!isObject(cited)) return []
  const { url, title } = cited
  return [{ url: textOf(url), title: typeof title === 'string' ? title : null, citedText: null, range: rangeOf(cited) }]
}

export const citationsOf = ({ annotations }: JsonObject): readonly Citation[] =>
  listOf(annotations).flatMap(readCitation)

/** An id for a call that the upstream gave none. */
export const callIdOf = (id: string, answer: string, place: number): string => id || `call_${answer}_${place}`

/** Calls without arguments come with an empty text from some upstreams. */
export const argumentsOf = (text: string): string => (text.trim() === '' ? '{}' : text)

const readCall = (value: unknown, answer: string, place: number): ReplyPart => {
  const call = objectOf(value)
  const { name, arguments: given } = objectOf(call['function'])
  return {
    type: 'tool_call',
    id: callIdOf(textOf(call['id']), answer, place),
    name: textOf(name),
    arguments: argumentsOf(textOf(given)),
    signature: readSignature(call),
  }
}

const readParts = (message: JsonObject, answer: string): readonly ReplyPart[] => {
  const thought = reasoningText(message)
  const text = contentText(message) + textOf(message['refusal'])
  return [
    ...(thought === '' ? [] : [{ type: 'thinking', text: thought, signature: null } as const]),
    ...(text === '' ? [] : [{ type: 'text', text, citations: citationsOf(message) } as const]),
    ...listOf(message['tool_calls']).map((call, place) => readCall(call, answer, place)),
  ]
}

/** The first choice of a chat completion: no more are asked for. */
export const readReply = ({ provider }: Target, json: JsonObject): Reply | AnswerFault => {
  if (json['error']) return { fault: 'error_in_answer' }
  const choice = listOf(json['choices'])[0]
  if (!isObject(choice)) return { fault: 'no_choices' }
  const message = objectOf(choice['message'])
  const id = replyId(json)
  const parts = readParts(message, id)
  const said = { calls: parts.some(({ type }) => type === 'tool_call'), refusal: textOf(message['refusal']) !== '' }
  return {
    id,
    parts,
    stop: stopReasonOf(textOf(choice['finish_reason']), said),
    stopSequence: null,
    usage: readUsage(json['usage'], provider.profile),
  }
}
