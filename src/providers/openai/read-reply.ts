import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Citation, Reply, ReplyPart, StopReason } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import { readServedTier } from '../dialect/reported-usage.ts'
import { reasoningText } from './delivered.ts'
import { readSignature } from './signature.ts'
import { readChatUsage } from './usage.ts'

/** The upstream's id without the prefix that every chat answer has. */
export const replyId = ({ id }: JsonObject): string => asText(id).replace(/^chatcmpl-/, '')

const stopReasons = new Map<string, StopReason>([
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'filtered'],
])

/** Some upstreams report `stop` where the answer calls tools. */
export const stopReasonOf = (
  finishReason: string,
  content: { readonly calls: boolean; readonly refusal: boolean },
): StopReason => {
  const reason = stopReasons.get(finishReason) ?? 'end'
  if (reason !== 'end') return reason
  if (content.refusal) return 'filtered'
  return content.calls ? 'tool_calls' : 'end'
}

const partText = (part: unknown): string => asText(asObject(part)['text'])

export const contentText = ({ content }: JsonObject): string =>
  typeof content === 'string' ? content : asArray(content).map(partText).join('')

const rangeOf = ({ start_index, end_index }: JsonObject): Citation['range'] =>
  typeof start_index === 'number' && typeof end_index === 'number' ? { start: start_index, end: end_index } : null

const readCitation = (annotation: unknown): readonly Citation[] => {
  const cited = asObject(annotation)['url_citation']
  if (!isObject(cited)) return []
  const { url, title } = cited
  return [{ url: asText(url), title: typeof title === 'string' ? title : null, citedText: null, range: rangeOf(cited) }]
}

export const readCitations = ({ annotations }: JsonObject): readonly Citation[] =>
  asArray(annotations).flatMap(readCitation)

export const toolCallIdOf = (id: string, answer: string, place: number): string => id || `call_${answer}_${place}`

/** Calls without arguments have an empty text from some upstreams. */
export const argumentsOf = (text: string): string => (text.trim() === '' ? '{}' : text)

const readCall = (value: unknown, answer: string, place: number): ReplyPart => {
  const call = asObject(value)
  const { name, arguments: given } = asObject(call['function'])
  return {
    type: 'tool_call',
    id: toolCallIdOf(asText(call['id']), answer, place),
    name: asText(name),
    arguments: argumentsOf(asText(given)),
    signature: readSignature(call),
  }
}

const readParts = (message: JsonObject, answer: string): readonly ReplyPart[] => {
  const thought = reasoningText(message)
  const text = contentText(message)
  const refusal = asText(message['refusal'])
  return [
    ...(thought === '' ? [] : [{ type: 'thinking', text: thought, signature: null } as const]),
    ...(text === '' ? [] : [{ type: 'text', text, citations: readCitations(message) } as const]),
    ...(refusal === '' ? [] : [{ type: 'text', text: refusal, citations: [], refusal: true } as const]),
    ...asArray(message['tool_calls']).map((call, place) => readCall(call, answer, place)),
  ]
}

/** The first choice of a chat completion: no more are asked for. */
export const readChatReply = ({ provider }: Target, json: JsonObject): Reply | AnswerFault => {
  if (json['error']) return { fault: 'error_in_answer' }
  const choice = asArray(json['choices'])[0]
  if (!isObject(choice)) return { fault: 'no_choices' }
  const message = asObject(choice['message'])
  const id = replyId(json)
  const parts = readParts(message, id)
  const content = { calls: parts.some(({ type }) => type === 'tool_call'), refusal: asText(message['refusal']) !== '' }
  return {
    id,
    parts,
    stop: stopReasonOf(asText(choice['finish_reason']), content),
    stopSequence: null,
    usage: readChatUsage(json['usage'], provider.profile, { servedWith: readServedTier(json['service_tier']) }),
  }
}
