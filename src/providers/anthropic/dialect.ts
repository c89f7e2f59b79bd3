import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, parseJsonBytes } from '../../encoding/json.ts'
import { finishSteps } from '../../encoding/steps.ts'
import type { ChoosingFormat, UpstreamFormat } from '../canonical/format.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest, UpstreamDialect } from '../dialect/dialect.ts'
import { makerOf } from '../dialect/provider-mark.ts'
import { DeliveredBlocks } from './delivered.ts'
import { type PostMessages, postTo } from './endpoint.ts'
import { countMessagesUsage } from './estimate.ts'
import { readMessagesReply } from './read-reply.ts'
import { readDemands, readRequest } from './read-request.ts'
import { readMessagesError } from './refusal.ts'
import { MessagesRelay } from './relay.ts'
import { MessagesReader } from './reply-reader.ts'
import { MessagesWriter } from './reply-writer.ts'
import { messagesRequest } from './request.ts'
import { withAnswerMarks } from './signatures.ts'
import { withoutUnpricedMessagesTools } from './tools.ts'
import { messagesUsageOnWire, readMessagesUsage } from './usage.ts'
import { writeMessagesReply } from './write-reply.ts'
import { pricesSearch, writeRequest } from './write-request.ts'

export const readMessagesAnswer = (
  target: Target,
  _asked: UpstreamCallRequest,
  body: Uint8Array,
): UpstreamAnswer | AnswerFault => {
  const json = parseJsonBytes(body)
  if (!isObject(json)) return { fault: 'not_json' }
  if (json['error'] || json['type'] === 'error') return { fault: 'error_in_answer' }
  const content = json['content']
  if (!Array.isArray(content)) return { fault: 'no_content' }
  const delivered = new DeliveredBlocks()
  for (const block of content) if (isObject(block)) delivered.addBlock(block)
  const marked = withAnswerMarks(makerOf(target), json, body)
  const changed = marked === body ? {} : { body: marked }
  return { json, reportedUsage: readMessagesUsage(json['usage']), delivered, ...changed }
}

export const completeMessagesAnswer = ({ json }: UpstreamAnswer, counted: Usage, target: Target): Uint8Array =>
  withAnswerMarks(makerOf(target), json, Buffer.from(JSON.stringify({ ...json, usage: messagesUsageOnWire(counted) })))

export const messagesDialect = (post: PostMessages): UpstreamDialect => ({
  buildRequest: (target, request) => finishSteps(messagesRequest(target, request, post)),
  buildSteps: (target, request) => messagesRequest(target, request, post),
  readAnswer: readMessagesAnswer,
  completeAnswer: completeMessagesAnswer,
  openRelay: (target) => new MessagesRelay(makerOf(target)),
  countUsage: (target, request, delivered) => {
    const body = withoutUnpricedMessagesTools(request.body, target.sheet)
    return countMessagesUsage(target, { ...request, body }, delivered)
  },
  readRefusal: readMessagesError,
})

export const anthropicMessages = messagesDialect(postTo)

export const messagesClient: ChoosingFormat = {
  readRequest,
  readDemands,
  writeReply: writeMessagesReply,
  openWriter: (served) => new MessagesWriter(served),
}

export const messagesFormat = (post: PostMessages): UpstreamFormat => ({
  writeRequest: (conversation, target, asking) => writeRequest(conversation, target, asking, post),
  readReply: readMessagesReply,
  openReader: () => new MessagesReader(),
  offersSearch: (_conversation, target) => pricesSearch(target),
  readRefusal: readMessagesError,
})

export const messagesUpstream = messagesFormat(postTo)
