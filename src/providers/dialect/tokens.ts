import type { OutputTokens } from '../../domain/usage/usage.ts'
import { jsonPieces } from '../../encoding/write-json.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import { WorkTurns } from '../../runtime/work-turns.ts'
import type { Delivered } from './dialect.ts'
import { providerLimits } from './limits.ts'

const plainText = { disallowedSpecial: new Set<string>() }

/** Some 150 ms of the main thread at the first call, nothing at later ones. */
export const loadTokenizer = () => import('gpt-tokenizer/encoding/o200k_base')

const turns = new WorkTurns(1)

export interface CountedFor {
  /** Which takes turns with the others. */
  readonly workspaceId?: string
  readonly signal?: AbortSignal
}

/** Of a text, besides its characters. */
const textWeight = 16

/**
 * The first `estimateCharactersMax` characters of the texts, as one text, in slices; empty ones where a step was full
 * before a slice was. Returns the characters of all texts.
 */
function* slicesOf(texts: Iterable<string>): Generator<string, number> {
  const { estimateCharactersMax, estimateSliceCharacters: sliceCharacters, estimateStepWeight } = providerLimits
  let [open, characters, weight] = ['', 0, 0]
  for (const text of texts) {
    const joined = open + text.slice(0, Math.max(0, estimateCharactersMax - characters))
    characters += text.length
    weight += text.length + textWeight
    const end = joined.length - (joined.length % sliceCharacters)
    if (end > 0 || weight > estimateStepWeight) weight = 0
    if (weight === 0 && end === 0) yield ''
    for (let at = 0; at < end; at += sliceCharacters) yield joined.slice(at, at + sliceCharacters)
    open = joined.slice(end)
  }
  if (open !== '') yield open
  return characters
}

/**
 * Tokens of the texts as one by o200k; beyond `estimateCharactersMax` extrapolated in proportion. What follows the first
 * slice is put together and counted in large steps, beside those of the workspace's bodies: with these they have a third
 * of the main thread. Throws the reason of a signal that has fired.
 */
export const countTokens = async (
  texts: string | Iterable<string>,
  { workspaceId = '', signal }: CountedFor = {},
): Promise<number> => {
  const slices = slicesOf(typeof texts === 'string' ? [texts] : texts)
  let next = slices.next()
  if (next.done === true) return 0
  const tokenizer = await loadTokenizer()
  let [tokens, characters] = [0, 0]
  const countSlice = (slice: string): ReturnType<typeof slices.next> => {
    tokens += slice === '' ? 0 : tokenizer.countTokens(slice, plainText)
    characters += slice.length
    return slices.next()
  }
  await turns.take(workspaceId)
  next = countSlice(next.value)
  const step = { workspaceId: `${workspaceId} counts`, bytes: providerLimits.estimateSliceCharacters }
  while (next.done !== true) {
    signal?.throwIfAborted()
    const { value } = next
    next = await runWhereLarge(step, () => countSlice(value), 0)
  }
  return characters === 0 ? 0 : Math.ceil((tokens * next.value) / characters)
}

const messageTokens = 3
const primingTokens = 3

/** OpenAI's published count: each message is wrapped in three tokens, and the answer is primed with three. */
export const wrappingTokens = (messages: number): number => messages * messageTokens + primingTokens

const charactersPerToken = 4

export const countOutput = async (
  { texts, reasoningTexts, charactersBeyond, unseenCharacters = 0, audioTokens = 0, imageTokens = 0 }: Delivered,
  countedFor?: CountedFor,
): Promise<OutputTokens> => {
  const reasoning = await countTokens(reasoningTexts, countedFor)
  const answer = await countTokens(texts, countedFor)
  const unseen = Math.ceil(unseenCharacters / charactersPerToken)
  const beyond = Math.ceil(charactersBeyond / charactersPerToken)
  return {
    total: reasoning + unseen + answer + beyond + audioTokens + imageTokens,
    reasoning: reasoning + unseen,
    audio: audioTokens,
    image: imageTokens,
  }
}

/** The JSON of a value; none where there is no value. */
export const jsonTexts = (value: unknown): Iterable<string> =>
  value === undefined || value === null ? [] : jsonPieces(value)
