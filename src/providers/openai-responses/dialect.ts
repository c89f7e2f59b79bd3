import type { Dialect } from '../dialect.ts'
import { readRefusal } from '../openai/refusal.ts'
import { completeAnswer, readAnswer } from './answer.ts'
import { countUsage } from './estimate.ts'
import { ResponsesRelay } from './relay.ts'
import { responsesRequest } from './request.ts'

/** Responses, as OpenAI and xAI speak them. */
export const openaiResponses: Dialect = {
  buildRequest: responsesRequest,
  readAnswer,
  completeAnswer,
  openRelay: (target, asked) => new ResponsesRelay(target, asked),
  countUsage,
  readRefusal,
}
