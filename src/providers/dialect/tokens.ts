import type { OutputTokens } from '../../domain/usage/usage.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import { WorkTurns } from '../../runtime/work-turns.ts'
import type { Delivered } from './dialect.ts'
import { providerLimits } from './limits.ts'

const plainText = { disallowedSpecial: new Set<string>() }

function* slicesOf(text: string, sliceCharacters: number): Iterable<string> {
  for (let at = 0; at < text.length; at += sliceCharacters) yield text.slice(at, at + sliceCharacters)
}

/** Some 150 ms of the main thread at the first call, nothing at later ones. */
export const loadTokenizer = () => import('gpt-tokenizer/encoding/o200k_base')

const turns = new WorkTurns(1)

export interface CountedFor {
  /** Which takes turns with the others. */
  readonly workspaceId?: string
  readonly signal?: AbortSignal
}

/**
 * Tokens of a text by o200k; beyond `estimateCharactersMax` extrapolated in proportion. What follows the first piece is
 * counted in large steps, beside those of the workspace's bodies: with these they have a third of the main thread. Throws the
 * reason of a signal that has fired.
 */
export const countTokens = async (text: string, { workspaceId = '', signal }: CountedFor = {}): Promise<number> => {
  if (text === '') return 0
  const tokenizer = await loadTokenizer()
  const { estimateCharactersMax, estimateYieldCharacters, estimateSliceCharacters } = providerLimits
  const read = text.slice(0, estimateCharactersMax)
  let tokens = 0
  const countPiece = (piece: string): void => {
    for (const slice of slicesOf(piece, estimateSliceCharacters)) tokens += tokenizer.countTokens(slice, plainText)
  }
  await turns.take(workspaceId)
  const [first = '', ...others] = slicesOf(read, estimateYieldCharacters)
  countPiece(first)
  const steps = `${workspaceId} counts`
  for (const piece of others) {
    signal?.throwIfAborted()
    await runWhereLarge({ workspaceId: steps, bytes: piece.length }, () => countPiece(piece), 0)
  }
  return Math.ceil((tokens * text.length) / read.length)
}

const messageTokens = 3
const primingTokens = 3

/** OpenAI's published count: each message is wrapped in three tokens, and the answer is primed with three. */
export const wrappingTokens = (messages: number): number => messages * messageTokens + primingTokens

const charactersPerToken = 4

/** Texts are counted as one, so that many short ones have the bounds and pauses of a long one. */
export const countOutput = async (
  { texts, reasoningTexts, charactersBeyond, unseenCharacters = 0, audioTokens = 0, imageTokens = 0 }: Delivered,
  countedFor?: CountedFor,
): Promise<OutputTokens> => {
  const reasoning = await countTokens(reasoningTexts.join(''), countedFor)
  const answer = await countTokens(texts.join(''), countedFor)
  const unseen = Math.ceil(unseenCharacters / charactersPerToken)
  const beyond = Math.ceil(charactersBeyond / charactersPerToken)
  return {
    total: reasoning + unseen + answer + beyond + audioTokens + imageTokens,
    reasoning: reasoning + unseen,
    audio: audioTokens,
    image: imageTokens,
  }
}

export const jsonText = (value: unknown): string => (value === undefined || value === null ? '' : JSON.stringify(value))
