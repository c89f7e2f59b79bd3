import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest } from '../dialect/dialect.ts'
import { DeliveredOutput } from './delivered.ts'
import { countToolCalls } from './tool-calls.ts'
import { readResponsesUsage, responsesUsageOnWire } from './usage.ts'

/** `incomplete` is an answer: it has run into a limit of the caller's. */
const noAnswers: readonly unknown[] = ['failed', 'cancelled', 'queued', 'in_progress']

/** No provider's ids have other characters. An id enters the log, and becomes part of a path. */
const idPattern = /^[\w-]{1,256}$/

/** The id by which a later request may name the answer; null where the provider does not keep it. */
export const storedIdOf = ({ body }: UpstreamCallRequest, { id, store }: JsonObject): string | null =>
  body['store'] !== false && store !== false && typeof id === 'string' && idPattern.test(id) ? id : null

export const readResponsesAnswer = (
  target: Target,
  asked: UpstreamCallRequest,
  bytes: Uint8Array,
): UpstreamAnswer | AnswerFault => {
  const json = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  if (!isObject(json)) return { fault: 'not_json' }
  const { status, output } = json
  if (noAnswers.includes(status)) return { fault: `response_${status}` }
  if (json['error']) return { fault: 'error_in_answer' }
  if (!Array.isArray(output)) return { fault: 'no_output' }
  const toolCalls = countToolCalls(asked.body, output, json['tool_usage'])
  const delivered = new DeliveredOutput(() => toolCalls)
  delivered.setItems(output)
  const reportedUsage = readResponsesUsage(json, target.provider.profile, toolCalls)
  return { json, reportedUsage, delivered, storedId: storedIdOf(asked, json) }
}

export const withUsage = (response: JsonObject, counted: Usage): JsonObject => ({
  ...response,
  usage: responsesUsageOnWire(counted),
})

export const completeResponsesAnswer = ({ json }: UpstreamAnswer, counted: Usage): Uint8Array =>
  Buffer.from(JSON.stringify(withUsage(json, counted)))
