import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject } from '../../encoding/json.ts'
import { readNegativeFigures, readServedWith, tokensOf } from '../dialect/reported-usage.ts'

/** The part of the written total that the details leave out was cached for five minutes. */
const written1hOf = (details: unknown): number =>
  asArray(details)
    .map(asObject)
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + (tokensOf(inputTokens) ?? 0), 0)

/**
 * `inputTokens` has neither what was read from the cache nor what was written to it: all three are the prompt. Null where
 * it is no usage. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
 */
export const readConverseUsage = (raw: unknown, serviceTier: unknown): Usage | null => {
  if (!isObject(raw)) return null
  const [input, output] = [tokensOf(raw['inputTokens']), tokensOf(raw['outputTokens'])]
  if (input === undefined || output === undefined) return null
  const cacheRead = tokensOf(raw['cacheReadInputTokens']) ?? 0
  const written = tokensOf(raw['cacheWriteInputTokens']) ?? 0
  const cacheWrite1h = Math.min(written, written1hOf(raw['cacheDetails']))
  const prompt = { total: input + cacheRead + written, cacheRead, cacheWrite5m: written - cacheWrite1h, cacheWrite1h }
  return {
    ...usageOf(prompt, { total: output }),
    ...readServedWith(asObject(serviceTier)['type']),
    ...readNegativeFigures(raw),
  }
}
