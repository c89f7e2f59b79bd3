import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { countOf } from '../count.ts'
import { serverToolCalls } from '../openai/server-tools.ts'
import type { Profile } from '../provider.ts'
import type { ToolCalls } from './tool-calls.ts'

const detail = (details: unknown, name: string): number => countOf(asObject(details)[name]) ?? 0

/** The input includes what was read from and written to the cache, the output includes reasoning. */
export const readResponsesUsage = (raw: unknown, profile: Profile, seen: ToolCalls): Usage | null => {
  if (!isObject(raw)) return null
  const input = countOf(raw['input_tokens'])
  const output = countOf(raw['output_tokens'])
  if (input === undefined || output === undefined) return null
  const { input_tokens_details: ofInput, output_tokens_details: ofOutput } = raw
  return usageOf(
    {
      total: input,
      cacheRead: detail(ofInput, 'cached_tokens'),
      cacheWrite5m: detail(ofInput, 'cache_write_tokens'),
    },
    { total: output, reasoning: detail(ofOutput, 'reasoning_tokens') },
    (profile === 'xai' ? serverToolCalls(raw) : null) ?? seen,
  )
}

export const responsesUsageOnWire = (usage: Usage): JsonObject => ({
  input_tokens: usage.promptTotal,
  input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite5m + usage.cacheWrite1h },
  output_tokens: usage.outputTotal,
  output_tokens_details: { reasoning_tokens: usage.outputReasoning },
  total_tokens: usage.promptTotal + usage.outputTotal,
})
