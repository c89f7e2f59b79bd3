import type { UpstreamDialect } from '../dialect/dialect.ts'
import { completeMessagesAnswer, readMessagesAnswer } from './answer.ts'
import { countMessagesUsage } from './estimate.ts'
import { readMessagesError } from './refusal.ts'
import { MessagesRelay } from './relay.ts'
import { messagesRequest } from './request.ts'

export const anthropicMessages: UpstreamDialect = {
  buildRequest: messagesRequest,
  readAnswer: readMessagesAnswer,
  completeAnswer: completeMessagesAnswer,
  openRelay: () => new MessagesRelay(),
  countUsage: countMessagesUsage,
  readRefusal: readMessagesError,
}
