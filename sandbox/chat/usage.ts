import type { JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import type { Output } from '../answers/output.ts'
import { type Counted, reportsReasoningSeparately, type Tokens, tokensOf } from '../answers/tokens.ts'
import type { ReportedUsage } from '../http/dialect.ts'
import type { ChatRequest } from './request.ts'

const counted = (request: ChatRequest, output: Output): Counted => ({
  ...request.prompt,
  visible: output.fragments.length * request.choices,
  reasoning: output.reasoningTokens * request.choices,
  audioOut: request.audio ? output.fragments.length * request.choices : 0,
})

const details = (tokens: Tokens): JsonObject => ({
  prompt_tokens_details: {
    cached_tokens: tokens.cached,
    audio_tokens: tokens.audioIn,
    ...(tokens.image > 0 ? { image_tokens: tokens.image } : {}),
    ...(tokens.cacheWrite > 0 ? { cache_write_tokens: tokens.cacheWrite } : {}),
  },
  completion_tokens_details: {
    reasoning_tokens: tokens.reasoning,
    audio_tokens: tokens.audioOut,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
})

/** The profiles xai and gemini leave reasoning out of the completion, and only the total has it. */
const usageOnWire = (tokens: Tokens, directives: Directives): JsonObject => ({
  prompt_tokens: tokens.prompt,
  completion_tokens: reportsReasoningSeparately(directives) ? tokens.output - tokens.reasoning : tokens.output,
  total_tokens: tokens.prompt + tokens.output,
  ...(directives.profile === 'gemini' ? {} : details(tokens)),
})

const reportTokens = (tokens: Tokens, directives: Directives): ReportedUsage => ({
  tokens,
  usage: usageOnWire(tokens, directives),
})

export const reportedChatUsage = (
  request: ChatRequest,
  output: Output,
  directives: Directives,
): ReportedUsage | null =>
  directives.no_usage
    ? null
    : reportTokens(tokensOf(counted(request, output), directives, reportsReasoningSeparately(directives)), directives)

export const chatUsageSoFar = (whole: ReportedUsage, fragments: number, directives: Directives): ReportedUsage => {
  const { tokens } = whole
  const output = Math.min(tokens.output, tokens.reasoning + fragments)
  return reportTokens({ ...tokens, output, audioOut: Math.min(tokens.audioOut, fragments) }, directives)
}
