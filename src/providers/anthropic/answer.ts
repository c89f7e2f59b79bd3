import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, parseJson } from '../../encoding/json.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest } from '../dialect/dialect.ts'
import { DeliveredBlocks } from './delivered.ts'
import { messagesUsageOnWire, readMessagesUsage } from './usage.ts'

const textOfBytes = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()

export const readMessagesAnswer = (
  _target: Target,
  _asked: UpstreamCallRequest,
  body: Uint8Array,
): UpstreamAnswer | AnswerFault => {
  const json = parseJson(textOfBytes(body))
  if (!isObject(json)) return { fault: 'not_json' }
  if (json['error'] || json['type'] === 'error') return { fault: 'error_in_answer' }
  const content = json['content']
  if (!Array.isArray(content)) return { fault: 'no_content' }
  const delivered = new DeliveredBlocks()
  for (const block of content) if (isObject(block)) delivered.addBlock(block)
  return { json, reportedUsage: readMessagesUsage(json['usage']), delivered }
}

export const completeMessagesAnswer = ({ json }: UpstreamAnswer, counted: Usage): Uint8Array =>
  Buffer.from(JSON.stringify({ ...json, usage: messagesUsageOnWire(counted) }))
