import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, parseJsonBytes } from '../../encoding/json.ts'
import { finishSteps } from '../../encoding/steps.ts'
import type { ChoosingFormat, UpstreamFormat } from '../canonical/format.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest, UpstreamDialect } from '../dialect/dialect.ts'
import { readServedTier } from '../dialect/reported-usage.ts'
import { DeliveredText } from './delivered.ts'
import { countChatUsage } from './estimate.ts'
import { readChatDemands, readConversation } from './read-conversation.ts'
import { readChatReply } from './read-reply.ts'
import { ChatReplyReader } from './read-reply-stream.ts'
import { readOpenAIError } from './refusal.ts'
import { ChatRelay } from './relay.ts'
import { chatRequest } from './request.ts'
import { chatUsageOnWire, countChatSearchCalls, isSearchModel, readChatUsage, searchCallsOf } from './usage.ts'
import { writeConversation } from './write-conversation.ts'
import { writeChatReply } from './write-reply.ts'
import { ChatReplyWriter } from './write-reply-stream.ts'

const readChatAnswer = (
  target: Target,
  request: UpstreamCallRequest,
  body: Uint8Array,
): UpstreamAnswer | AnswerFault => {
  const json = parseJsonBytes(body)
  if (!isObject(json)) return { fault: 'not_json' }
  if (json['error']) return { fault: 'error_in_answer' }
  const choices = json['choices']
  if (!Array.isArray(choices)) return { fault: 'no_choices' }
  const delivered = new DeliveredText()
  delivered.add(choices, 'message')
  const servedWith = readServedTier(json['service_tier'])
  const reportedUsage = readChatUsage(json['usage'], target.provider.profile, {
    toolCalls: countChatSearchCalls(target, request),
    servedWith,
  })
  return { json, reportedUsage, servedWith, delivered }
}

const completeChatAnswer = ({ json }: UpstreamAnswer, counted: Usage): Uint8Array =>
  Buffer.from(JSON.stringify({ ...json, usage: chatUsageOnWire(counted) }))

export const openai: UpstreamDialect = {
  buildRequest: (target, request) => finishSteps(chatRequest(target, request)),
  buildSteps: chatRequest,
  readAnswer: readChatAnswer,
  completeAnswer: completeChatAnswer,
  openRelay: (target, request) => new ChatRelay(target, request),
  countUsage: countChatUsage,
  readRefusal: readOpenAIError,
}

export const chatClient: ChoosingFormat = {
  readRequest: readConversation,
  readDemands: readChatDemands,
  writeReply: writeChatReply,
  openWriter: (served, body) => new ChatReplyWriter(served, body),
}

export const chatUpstream: UpstreamFormat = {
  writeRequest: writeConversation,
  readReply: readChatReply,
  openReader: (target) => new ChatReplyReader(target),
  offersSearch: (_conversation, { upstreamModel }) => isSearchModel(upstreamModel),
  impliedToolCalls: (target) =>
    isSearchModel(target.upstreamModel)
      ? ({ webSearch }) => searchCallsOf(target, webSearch?.contextSize ?? null)
      : null,
  readRefusal: readOpenAIError,
}
