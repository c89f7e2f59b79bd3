import type { Dialect } from '../dialect.ts'
import { completeAnswer, readAnswer } from './answer.ts'
import { countUsage } from './estimate.ts'
import { readRefusal } from './refusal.ts'
import { MessagesRelay } from './relay.ts'
import { messagesRequest } from './request.ts'

/** Messages, as Anthropic and those who follow it speak them. */
export const anthropicMessages: Dialect = {
  buildRequest: messagesRequest,
  readAnswer,
  completeAnswer,
  openRelay: () => new MessagesRelay(),
  countUsage,
  readRefusal,
}
