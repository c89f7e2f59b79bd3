import { sandboxLimits } from './limits.ts'

const spaceCode = 32

/** A token is a word here. */
export const countWords = (text: string): number => {
  let words = 0
  let inside = false
  for (let index = 0; index < text.length; index += 1) {
    const letter = text.charCodeAt(index) > spaceCode
    if (letter && !inside) words += 1
    inside = letter
  }
  return words
}

/** Each word with the space before it, so that the tokens joined are the text. */
export const tokensOfText = (text: string): readonly string[] => text.match(/\s*\S+|\s+$/g) ?? []

export const joinTexts = (texts: readonly string[]): string => texts.filter((text) => text !== '').join(' ')

const pieceCharacters = 8

/** Text without spaces of its own (JSON) has no words: every few characters are a token. */
export const tokensOfJson = (text: string): readonly string[] =>
  text.match(new RegExp(`.{1,${pieceCharacters}}`, 'gsu')) ?? []

const leadingWords = (text: string): readonly string[] => {
  const words: string[] = []
  for (const [word] of text.matchAll(/\S+/g)) {
    if (words.length === sandboxLimits.sandboxEchoWordsMax) break
    words.push(word.slice(0, sandboxLimits.sandboxWordCharactersMax).toWellFormed())
  }
  return words
}

const multiByteWords = ['Grüße', '你好', '🙂', 'naïve', 'Ελλάδα', '👩‍👩‍👧', 'żółć', '𝔘𝔫𝔦', 'עברית', '€uro', 'ꙮ', 'ça']

const spaced = (word: string, index: number): string => (index === 0 ? word : ` ${word}`)

export const echo = (userText: string, tokens: number | undefined, multiByte: boolean): readonly string[] => {
  const echoed = leadingWords(userText)
  const words = multiByte
    ? multiByteWords
    : echoed.length === 0
      ? ['You', 'said', 'nothing.']
      : ['You', 'said:', ...echoed]
  const length = tokens ?? words.length
  return Array.from({ length }, (_, index) => spaced(words[index % words.length] ?? '', index))
}

const bigTokenBytes = 4_096
const multiByteLetter = '日'
const multiByteLetterBytes = 3

const bigToken = (bytes: number, multiByte: boolean): string => {
  if (!multiByte) return 'x'.repeat(bytes)
  const letters = Math.floor(bytes / multiByteLetterBytes)
  return multiByteLetter.repeat(letters) + 'x'.repeat(bytes - letters * multiByteLetterBytes)
}

export const bigText = (bytes: number, multiByte: boolean): readonly string[] => {
  const whole = bigToken(bigTokenBytes, multiByte)
  const tokens = Array.from({ length: Math.floor(bytes / bigTokenBytes) }, () => whole)
  const rest = bytes % bigTokenBytes
  return rest === 0 ? tokens : [...tokens, bigToken(rest, multiByte)]
}
