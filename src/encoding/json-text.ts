export const quote = 0x22
export const comma = 0x2c
export const openBracket = 0x5b
const backslash = 0x5c
export const closeBracket = 0x5d
export const openBrace = 0x7b
export const closeBrace = 0x7d
export const space = 0x20

/** Most strings and white space end within these; in what is longer, a search is faster than a loop over the characters. */
const nearCharacters = 64

const isEscaped = (text: string, at: number, from: number): boolean => {
  let backslashes = 0
  while (at - 1 - backslashes >= from && text.charCodeAt(at - 1 - backslashes) === backslash) backslashes += 1
  return backslashes % 2 === 1
}

const walkToQuote = (text: string, from: number, to: number): number => {
  let at = from
  while (at < to) {
    const character = text.charCodeAt(at)
    if (character === quote) break
    at += character === backslash ? 2 : 1
  }
  return at
}

/** `from` is within a string; the end of the text where there is no end quote, and one more where it ends in half an escape. */
export const endOfString = (text: string, from: number): number => {
  const near = Math.min(from + nearCharacters, text.length)
  const at = walkToQuote(text, from, near)
  if (at < near) return at
  const quoteAt = text.indexOf('"', at)
  if (quoteAt < 0) return Math.max(at, text.length + (isEscaped(text, text.length, at) ? 1 : 0))
  return isEscaped(text, quoteAt, at) ? walkToQuote(text, quoteAt + 1, text.length) : quoteAt
}

const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Of JSON's four: no other control character is white space. */
export const isSpace = (character: number | undefined): boolean =>
  character === space || character === lineFeed || character === tab || character === carriageReturn

const beyondSpace = /[^ \t\n\r]/g

/** Of that which begins at `from`. */
export const endOfSpace = (text: string, from: number): number => {
  let at = from + 1
  for (const near = Math.min(from + nearCharacters, text.length); at < near; at += 1)
    if (!isSpace(text.charCodeAt(at))) return at
  beyondSpace.lastIndex = at
  return beyondSpace.test(text) ? beyondSpace.lastIndex - 1 : text.length
}

const unicodeEscape = 6
const u = 0x75

/** The last place in a string's text where no escape is cut. */
export const endOfEscapes = (text: string): number => {
  for (let back = 1; back < unicodeEscape; back += 1) {
    const at = text.length - back
    if (text.charCodeAt(at) !== backslash || isEscaped(text, at, 0)) continue
    return back < (text.charCodeAt(at + 1) === u ? unicodeEscape : 2) ? at : text.length
  }
  return text.length
}
