import { cacheWriteOf, type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Profile } from '../dialect/provider.ts'
import { readNegativeFigures, readServedWith, tokensOf } from '../dialect/reported-usage.ts'
import { readInputParts, serverToolCalls } from '../openai/usage.ts'
import type { ToolCalls } from './tool-calls.ts'

const detail = (details: unknown, name: string): number => tokensOf(asObject(details)[name]) ?? 0

/** Of a response. The input includes what was read from and written to the cache, the output includes reasoning. */
export const readResponsesUsage = (response: JsonObject, profile: Profile, seen: ToolCalls): Usage | null => {
  const { usage: raw, service_tier: serviceTier } = response
  if (!isObject(raw)) return null
  const input = tokensOf(raw['input_tokens'])
  const output = tokensOf(raw['output_tokens'])
  if (input === undefined || output === undefined) return null
  const ofOutput = raw['output_tokens_details']
  const usage = usageOf(
    { total: input, ...readInputParts(asObject(raw['input_tokens_details'])) },
    { total: output, reasoning: detail(ofOutput, 'reasoning_tokens'), audio: detail(ofOutput, 'audio_tokens') },
    (profile === 'xai' ? serverToolCalls(raw) : null) ?? seen,
  )
  return { ...usage, ...readServedWith(serviceTier), ...readNegativeFigures(raw) }
}

const responsesUsageOnWire = (usage: Usage): JsonObject => ({
  input_tokens: usage.promptTotal,
  input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: cacheWriteOf(usage) },
  output_tokens: usage.outputTotal,
  output_tokens_details: { reasoning_tokens: usage.outputReasoning },
  total_tokens: usage.promptTotal + usage.outputTotal,
})

export const withUsage = <Response extends JsonObject>(response: Response, counted: Usage) => ({
  ...response,
  usage: responsesUsageOnWire(counted),
})
