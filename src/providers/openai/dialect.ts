import type { Dialect } from '../dialect.ts'
import { completeAnswer, readAnswer } from './answer.ts'
import { countUsage } from './estimate.ts'
import { readRefusal } from './refusal.ts'
import { ChatRelay } from './relay.ts'
import { chatRequest } from './request.ts'

/** Chat completions, as OpenAI and those who follow it speak them. */
export const openai: Dialect = {
  buildRequest: chatRequest,
  readAnswer,
  completeAnswer,
  openRelay: (target, asked) => new ChatRelay(target, asked),
  countUsage,
  readRefusal,
}
