import type { OutputTokens } from '../../domain/usage/usage.ts'
import { WorkTurns } from '../../runtime/work-turns.ts'
import type { Delivered } from './dialect.ts'
import { providerLimits } from './limits.ts'

const plainText = { disallowedSpecial: new Set<string>() }

function* slicesOf(text: string): Iterable<string> {
  const length = Math.min(text.length, providerLimits.estimateCharactersMax)
  for (let at = 0; at < length; at += providerLimits.estimateSliceCharacters)
    yield text.slice(at, Math.min(length, at + providerLimits.estimateSliceCharacters))
}

/** Some 150 ms of the main thread at the first call, nothing at later ones. */
export const loadTokenizer = () => import('gpt-tokenizer/encoding/o200k_base')

const turns = new WorkTurns(1)
let counts = 0

/** Tokens of a text by o200k; beyond `estimateCharactersMax` extrapolated in proportion. */
export const countTokens = async (text: string): Promise<number> => {
  if (text === '') return 0
  const tokenizer = await loadTokenizer()
  let tokens = 0
  let characters = 0
  let breatheAt = 0
  counts += 1
  const name = String(counts)
  for (const slice of slicesOf(text)) {
    if (characters >= breatheAt) {
      breatheAt += providerLimits.estimateYieldCharacters
      await turns.take(name)
    }
    tokens += tokenizer.countTokens(slice, plainText)
    characters += slice.length
  }
  return Math.ceil((tokens * text.length) / characters)
}

const messageTokens = 3
const primingTokens = 3

/** OpenAI's published count: each message is wrapped in three tokens, and the answer is primed with three. */
export const wrappingTokens = (messages: number): number => messages * messageTokens + primingTokens

const charactersPerToken = 4

/** Texts are counted as one, so that many short ones have the bounds and pauses of a long one. */
export const countOutput = async ({
  texts,
  reasoningTexts,
  charactersBeyond,
  unseenCharacters = 0,
  audioTokens = 0,
  imageTokens = 0,
}: Delivered): Promise<OutputTokens> => {
  const reasoning = await countTokens(reasoningTexts.join(''))
  const answer = await countTokens(texts.join(''))
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
