import type { JsonObject } from '../../src/encoding/json.ts'
import type { Output } from '../answers/output.ts'
import { searchTokens } from '../answers/searching.ts'
import { type Tokens, tokensOf } from '../answers/tokens.ts'
import type { Asked, ReportedUsage } from '../http/dialect.ts'
import type { BuiltInCalls } from './built-in.ts'
import type { ResponsesRequest } from './request.ts'

/** $1.25 for a million tokens. */
const ticksPerToken = 12_500

/** Only calls that succeed count. */
const xaiMembers = (tokens: Tokens, calls: BuiltInCalls, ticks: number | undefined): JsonObject => {
  const details = {
    web_search_calls: calls.searches + calls.pagesOpened,
    x_search_calls: calls.xSearches,
    code_interpreter_calls: calls.codeCalls,
    file_search_calls: calls.fileSearches,
    mcp_calls: 0,
    document_search_calls: 0,
    image_generation_calls: calls.images,
  }
  const used = Object.values(details).reduce((sum, count) => sum + count, 0)
  return {
    num_sources_used: calls.searches + calls.xSearches,
    num_server_side_tools_used: used,
    server_side_tool_usage_details: details,
    cost_in_usd_ticks: ticks ?? (tokens.prompt + tokens.output) * ticksPerToken,
  }
}

const usageOnWire = (tokens: Tokens, { builtIn }: ResponsesRequest, { directives }: Asked): JsonObject => ({
  input_tokens: tokens.prompt,
  input_tokens_details: { cached_tokens: tokens.cached, cache_write_tokens: tokens.cacheWrite },
  output_tokens: tokens.output,
  output_tokens_details: { reasoning_tokens: tokens.reasoning },
  total_tokens: tokens.prompt + tokens.output,
  ...(directives.profile === 'xai' ? xaiMembers(tokens, builtIn, directives.cost_ticks) : {}),
})

export const reportedResponsesUsage = (
  asked: Asked,
  request: ResponsesRequest,
  output: Output,
): ReportedUsage | null => {
  if (asked.directives.no_usage) return null
  const { builtIn, words, images, audios } = request
  const found = (builtIn.searches + builtIn.xSearches + builtIn.fileSearches) * searchTokens
  const counted = {
    words: words + found,
    audioIn: audios,
    image: images,
    visible: output.fragments.length,
    reasoning: output.reasoningTokens,
    audioOut: 0,
  }
  const tokens = tokensOf(counted, asked.directives, false)
  return { usage: usageOnWire(tokens, request, asked), tokens }
}
