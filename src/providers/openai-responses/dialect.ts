import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, parseJsonBytes } from '../../encoding/json.ts'
import { finishSteps } from '../../encoding/steps.ts'
import type { ClientFormat } from '../canonical/format.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest, UpstreamDialect } from '../dialect/dialect.ts'
import { readServedTier } from '../dialect/reported-usage.ts'
import { readOpenAIError } from '../openai/refusal.ts'
import { DeliveredOutput } from './delivered.ts'
import { countResponsesUsage } from './estimate.ts'
import { readResponsesConversation } from './read-conversation.ts'
import { ResponsesRelay } from './relay.ts'
import { responsesRequest } from './request.ts'
import { withMarks } from './sealed-reasoning.ts'
import { storedIdOf } from './stored.ts'
import { countToolCalls } from './tool-calls.ts'
import { withoutUnpricedResponsesTools } from './unpriced-tools.ts'
import { readResponsesUsage, withUsage } from './usage.ts'
import { ResponsesReplyWriter, writeResponsesReply } from './write-reply.ts'

/** `incomplete` is an answer: it has run into a limit of the caller's. */
const noAnswers: readonly unknown[] = ['failed', 'cancelled', 'queued', 'in_progress']

export const readResponsesAnswer = (
  target: Target,
  request: UpstreamCallRequest,
  bytes: Uint8Array,
): UpstreamAnswer | AnswerFault => {
  const json = parseJsonBytes(bytes)
  if (!isObject(json)) return { fault: 'not_json' }
  const { status, output } = json
  if (noAnswers.includes(status)) return { fault: `response_${status}` }
  if (json['error']) return { fault: 'error_in_answer' }
  if (!Array.isArray(output)) return { fault: 'no_output' }
  const toolCalls = countToolCalls(request.body, output, json['tool_usage'])
  const delivered = new DeliveredOutput(() => toolCalls)
  delivered.setItems(output)
  const reportedUsage = readResponsesUsage(json, target.provider.profile, toolCalls)
  const marked = withMarks(target, bytes)
  const body = marked === bytes ? {} : { body: marked }
  const servedWith = readServedTier(json['service_tier'])
  return { json, reportedUsage, servedWith, delivered, storedId: storedIdOf(request.body, json), ...body }
}

export const completeResponsesAnswer = ({ json }: UpstreamAnswer, counted: Usage, target: Target): Uint8Array =>
  withMarks(target, Buffer.from(JSON.stringify(withUsage(json, counted))))

export const responsesClient: ClientFormat = {
  readRequest: readResponsesConversation,
  writeReply: writeResponsesReply,
  openWriter: (served, body) => finishSteps(ResponsesReplyWriter.open(served, body)),
  openWriterSteps: ResponsesReplyWriter.open,
}

/** As the upstream was asked: it calls no other tools. */
const asSent = (target: Target, request: UpstreamCallRequest): UpstreamCallRequest => ({
  ...request,
  body: withoutUnpricedResponsesTools(target.sheet, request.body),
})

export const openaiResponses: UpstreamDialect = {
  buildRequest: (target, request) => finishSteps(responsesRequest(target, request)),
  buildSteps: responsesRequest,
  readAnswer: (target, request, bytes) => readResponsesAnswer(target, asSent(target, request), bytes),
  completeAnswer: completeResponsesAnswer,
  openRelay: (target, request) => new ResponsesRelay(target, asSent(target, request)),
  countUsage: (target, request, delivered) => countResponsesUsage(target, asSent(target, request), delivered),
  readRefusal: readOpenAIError,
}
