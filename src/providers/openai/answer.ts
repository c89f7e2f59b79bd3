import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, parseJson } from '../../encoding/json.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest } from '../dialect/dialect.ts'
import { DeliveredText } from './delivered.ts'
import { chatUsageOnWire, countChatSearchCalls, readChatUsage } from './usage.ts'

const textOfBytes = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()

export const readChatAnswer = (
  target: Target,
  asked: UpstreamCallRequest,
  body: Uint8Array,
): UpstreamAnswer | AnswerFault => {
  const json = parseJson(textOfBytes(body))
  if (!isObject(json)) return { fault: 'not_json' }
  if (json['error']) return { fault: 'error_in_answer' }
  const choices = json['choices']
  if (!Array.isArray(choices)) return { fault: 'no_choices' }
  const delivered = new DeliveredText()
  delivered.add(choices, 'message')
  const reportedUsage = readChatUsage(json['usage'], target.provider.profile, {
    toolCalls: countChatSearchCalls(target, asked),
    serviceTier: json['service_tier'],
  })
  return { json, reportedUsage, delivered }
}

export const completeChatAnswer = ({ json }: UpstreamAnswer, counted: Usage): Uint8Array =>
  Buffer.from(JSON.stringify({ ...json, usage: chatUsageOnWire(counted) }))
