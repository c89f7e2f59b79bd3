import type { UpstreamDialect } from '../dialect/dialect.ts'
import { completeChatAnswer, readChatAnswer } from './answer.ts'
import { countChatUsage } from './estimate.ts'
import { readOpenAIError } from './refusal.ts'
import { ChatRelay } from './relay.ts'
import { chatRequest } from './request.ts'

export const openai: UpstreamDialect = {
  buildRequest: chatRequest,
  readAnswer: readChatAnswer,
  completeAnswer: completeChatAnswer,
  openRelay: (target, asked) => new ChatRelay(target, asked),
  countUsage: countChatUsage,
  readRefusal: readOpenAIError,
}
