import type { PromptTokens } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Target } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import { type CountedFor, countTokens } from '../dialect/tokens.ts'

/** A piece of a prompt, in the order in which the provider caches. */
export interface PromptPiece {
  readonly text: string
  /** The prompt is written to the cache up to here, and kept for so long. */
  readonly mark: '30m' | '12h' | null
}

export const unmarked = (text: string): PromptPiece => ({ text, mark: null })

const markOf = (part: JsonObject, { prompt_cache_options: options }: JsonObject): PromptPiece['mark'] => {
  const breakpoint = part['prompt_cache_breakpoint']
  if (!isObject(breakpoint)) return null
  return (breakpoint['ttl'] ?? asObject(options)['ttl']) === '12h' ? '12h' : '30m'
}

/** Of the content of a message of `body`. */
export const contentPieces = (content: unknown, body: JsonObject): readonly PromptPiece[] =>
  typeof content === 'string'
    ? [unmarked(content)]
    : asArray(content)
        .filter(isObject)
        .map((part) => ({ text: asText(part['text']) + asText(part['refusal']), mark: markOf(part, body) }))

const countUpTo = (pieces: readonly PromptPiece[], end: number, countedFor: CountedFor): Promise<number> =>
  countTokens(
    pieces
      .slice(0, end)
      .map(({ text }) => text)
      .join(''),
    countedFor,
  )

/**
 * What the request marks for the cache counts as written to it, where writes have a price. What the provider caches,
 * and reads from its cache, without a mark cannot be known: it counts as other input.
 */
export const countMarkedWrites = async (
  { sheet }: Target,
  pieces: readonly PromptPiece[],
  countedFor: CountedFor,
): Promise<Pick<PromptTokens, 'cacheWrite5m' | 'cacheWrite12h'>> => {
  if (sheet.per_million_tokens.cache_write_5m === undefined) return {}
  const end12h = pieces.findLastIndex(({ mark }) => mark === '12h') + 1
  const end = Math.max(end12h, pieces.findLastIndex(({ mark }) => mark === '30m') + 1)
  const written = await countUpTo(pieces, end, countedFor)
  if (written < providerLimits.cachedPromptTokensMin) return {}
  const cacheWrite12h = end12h === end ? written : await countUpTo(pieces, end12h, countedFor)
  return { cacheWrite5m: written - cacheWrite12h, cacheWrite12h }
}
