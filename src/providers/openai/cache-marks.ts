import type { PromptTokens } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Target } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import { findMarks, type PromptPiece, type PromptPieces, textsBetween } from '../dialect/prompt-pieces.ts'
import { type CountedFor, countTokens } from '../dialect/tokens.ts'

type Mark = '30m' | '12h'

export const unmarked = (...texts: readonly string[]): PromptPiece<Mark> => ({ texts, mark: null })

const markOf = (part: JsonObject, { prompt_cache_options: options }: JsonObject): Mark | null => {
  const breakpoint = part['prompt_cache_breakpoint']
  if (!isObject(breakpoint)) return null
  return (breakpoint['ttl'] ?? asObject(options)['ttl']) === '12h' ? '12h' : '30m'
}

/** Of the content of a message of `body`. */
export function* contentPieces(content: unknown, body: JsonObject): Generator<PromptPiece<Mark>, void> {
  if (typeof content === 'string') yield unmarked(content)
  else
    for (const part of asArray(content))
      if (isObject(part)) yield { texts: [asText(part['text']), asText(part['refusal'])], mark: markOf(part, body) }
}

/**
 * What the request marks for the cache counts as written to it, where writes have a price. What the provider caches,
 * and reads from its cache, without a mark cannot be known: it counts as other input.
 */
export const countMarkedWrites = async (
  { sheet }: Target,
  pieces: PromptPieces<Mark>,
  countedFor: CountedFor,
): Promise<Pick<PromptTokens, 'cacheWrite5m' | 'cacheWrite12h'>> => {
  if (sheet.per_million_tokens.cache_write_5m === undefined) return {}
  const ends = findMarks(pieces())
  const end12h = ends.get('12h') ?? 0
  const end = Math.max(end12h, ends.get('30m') ?? 0)
  const countUpTo = (place: number): Promise<number> => countTokens(textsBetween(pieces(), 0, place), countedFor)
  const written = await countUpTo(end)
  if (written < providerLimits.cachedPromptTokensMin) return {}
  const cacheWrite12h = end12h === end ? written : await countUpTo(end12h)
  return { cacheWrite5m: written - cacheWrite12h, cacheWrite12h }
}
