import type { UpstreamDialect } from '../dialect/dialect.ts'
import { readOpenAIError } from '../openai/refusal.ts'
import { completeResponsesAnswer, readResponsesAnswer } from './answer.ts'
import { countResponsesUsage } from './estimate.ts'
import { ResponsesRelay } from './relay.ts'
import { responsesRequest } from './request.ts'

export const openaiResponses: UpstreamDialect = {
  buildRequest: responsesRequest,
  readAnswer: readResponsesAnswer,
  completeAnswer: completeResponsesAnswer,
  openRelay: (target, asked) => new ResponsesRelay(target, asked),
  countUsage: countResponsesUsage,
  readRefusal: readOpenAIError,
}
