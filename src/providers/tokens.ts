import { setImmediate } from 'node:timers/promises'
import { limits } from '../limits.ts'

const plainText = { disallowedSpecial: new Set<string>() }

function* slicesOf(text: string): Iterable<string> {
  const length = Math.min(text.length, limits.estimateCharactersMax)
  for (let at = 0; at < length; at += limits.estimateSliceCharacters)
    yield text.slice(at, Math.min(length, at + limits.estimateSliceCharacters))
}

/** Tokens of a text by o200k; beyond `estimateCharactersMax` in the proportion found until there. */
export const countTokens = async (text: string): Promise<number> => {
  if (text === '') return 0
  const tokenizer = await import('gpt-tokenizer/encoding/o200k_base')
  let tokens = 0
  let characters = 0
  let breatheAt: number = limits.estimateBreatheCharacters
  for (const slice of slicesOf(text)) {
    tokens += tokenizer.countTokens(slice, plainText)
    characters += slice.length
    if (characters < breatheAt) continue
    breatheAt += limits.estimateBreatheCharacters
    await setImmediate()
  }
  return Math.ceil((tokens * text.length) / characters)
}
