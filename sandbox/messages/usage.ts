import type { JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import type { Output } from '../answers/output.ts'
import { searchTokens } from '../answers/searching.ts'
import type { Tokens } from '../answers/tokens.ts'
import type { Asked, ReportedUsage } from '../http/dialect.ts'
import type { MessagesRequest } from './request.ts'

interface Figures {
  /** Without tokens read from or written to the cache. */
  readonly input: number
  readonly output: number
  readonly thinking: number
  readonly searches: number | null
}

const tokensOf = ({ input, output, thinking }: Figures, directives: Directives): Tokens => {
  const cached = directives.cached_tokens ?? 0
  const cacheWrite = directives.cache_write_tokens ?? 0
  const cacheWrite1h = directives.cache_write_1h_tokens ?? 0
  return {
    prompt: input + cached + cacheWrite + cacheWrite1h,
    cached,
    cacheWrite,
    cacheWrite1h,
    audioIn: 0,
    image: 0,
    output,
    reasoning: thinking,
    audioOut: 0,
  }
}

const cumulative = (figures: Figures, tokens: Tokens): JsonObject => ({
  input_tokens: figures.input,
  cache_creation_input_tokens: tokens.cacheWrite + tokens.cacheWrite1h,
  cache_read_input_tokens: tokens.cached,
  output_tokens: figures.output,
  output_tokens_details: { thinking_tokens: figures.thinking },
  server_tool_use: figures.searches === null ? null : { web_search_requests: figures.searches, web_fetch_requests: 0 },
})

const wholeUsage = ({ body, directives }: Asked, figures: Figures, tokens: Tokens): JsonObject => ({
  ...cumulative(figures, tokens),
  cache_creation: {
    ephemeral_5m_input_tokens: tokens.cacheWrite,
    ephemeral_1h_input_tokens: tokens.cacheWrite1h,
  },
  service_tier: directives.service_tier ?? 'standard',
  inference_geo: body['inference_geo'] ?? 'global',
  speed: null,
})

/** The usage of a message: at its beginning and at its end in a stream, or whole. */
export interface UsageReports {
  readonly start: ReportedUsage
  readonly end: ReportedUsage
  readonly whole: ReportedUsage
}

const figuresOf = (request: MessagesRequest, output: Output, directives: Directives): Figures => {
  const thinking = directives.reasoning_tokens ?? output.reasoningTokens
  const images = directives.image_tokens ?? 0
  return {
    input: directives.prompt_tokens ?? request.promptTokens + images + request.searches * searchTokens,
    output: directives.completion_tokens ?? output.fragments.length + thinking,
    thinking,
    searches: request.declaresSearch ? request.searches : null,
  }
}

/** A stream begins with what is known before the model has searched and generated. */
const startOf = (request: MessagesRequest, figures: Figures, directives: Directives): Figures => ({
  input: directives.start_prompt_tokens ?? (request.searches > 0 ? request.promptTokens : figures.input),
  output: Math.min(1, figures.output),
  thinking: 0,
  searches: null,
})

export const usageReportsOf = (asked: Asked, request: MessagesRequest, output: Output): UsageReports | null => {
  const { directives } = asked
  if (directives.no_usage) return null
  const figures = figuresOf(request, output, directives)
  const start = startOf(request, figures, directives)
  const [tokens, startTokens] = [tokensOf(figures, directives), tokensOf(start, directives)]
  return {
    start: { usage: wholeUsage(asked, start, startTokens), tokens: startTokens },
    end: { usage: cumulative(figures, tokens), tokens },
    whole: { usage: wholeUsage(asked, figures, tokens), tokens },
  }
}
