const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const zero = 0x30
const space = 0x20
const nine = 0x39

/** An integer with fewer digits is exact as a number. */
const longDigits = 16

/** Most strings end within these; in longer ones `indexOf` for the quote is faster than a loop over the characters. */
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

/** `from` is after the opening quote; the end of the text where there is no end quote. */
const endOfString = (text: string, from: number): number => {
  const near = Math.min(from + nearCharacters, text.length)
  const at = walkToQuote(text, from, near)
  if (at < near) return at
  const quoteAt = text.indexOf('"', at)
  if (quoteAt < 0) return text.length
  return isEscaped(text, quoteAt, at) ? walkToQuote(text, quoteAt + 1, text.length) : quoteAt
}

const endOfDigits = (text: string, from: number): number => {
  let at = from
  for (; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character < zero || character > nine) break
  }
  return at
}

const beyondSpace = /[^ \t\n\r]/g

const endOfSpace = (text: string, from: number): number => {
  let at = from + 1
  for (const near = Math.min(from + nearCharacters, text.length); at < near; at += 1)
    if (text.charCodeAt(at) > space) return at
  beyondSpace.lastIndex = at
  return beyondSpace.test(text) ? beyondSpace.lastIndex - 1 : text.length
}

const nameAt = (text: string, from: number, to: number): string => {
  const name = text.slice(from, to)
  if (!name.includes('\\')) return name
  try {
    return JSON.parse(`"${name}"`)
  } catch {
    return name // Not JSON; the parser reports it.
  }
}

export interface JsonBounds {
  readonly depthMax: number
  /** Members and elements at all levels; an empty object or list counts as one. */
  readonly membersMax: number
  readonly nameCharactersMax?: number
}

interface JsonFindings {
  readonly tooDeep: boolean
  readonly tooMany: boolean
  readonly tooMuchNamed: boolean
  /** The first name that one object has twice. */
  readonly duplicate: string | null
  readonly members: number
  /** A number has so many digits that it may not be exact as one. */
  readonly hasLongNumber: boolean
}

/** What a JSON parser does not report, up to what is too deep or too many. Takes any text: the parser checks it. */
export const scanJson = (
  text: string,
  { depthMax, membersMax, nameCharactersMax = Number.POSITIVE_INFINITY }: JsonBounds,
): JsonFindings => {
  const open: (Set<string> | null)[] = []
  let names: Set<string> | null = null
  let nameIsNext = false
  let duplicate: string | null = null
  let members = 0
  let nameCharacters = 0
  let hasLongNumber = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character === quote) {
      const end = endOfString(text, at + 1)
      if (nameIsNext && names !== null) {
        nameCharacters += end - at
        if (nameCharacters > nameCharactersMax) break
        const name = nameAt(text, at + 1, end)
        if (names.has(name)) duplicate ??= name
        names.add(name)
        nameIsNext = false
      }
      at = end
    } else if (character === comma) {
      members += 1
      if (members > membersMax) break
      nameIsNext = names !== null
    } else if (character === openBrace || character === openBracket) {
      members += 1
      open.push(names)
      if (members > membersMax || open.length > depthMax) break
      nameIsNext = character === openBrace
      names = nameIsNext ? new Set() : null
    } else if (character === closeBrace || character === closeBracket) {
      names = open.pop() ?? null
      nameIsNext = false
    } else if (character >= zero && character <= nine) {
      const end = endOfDigits(text, at)
      if (end - at >= longDigits) hasLongNumber = true
      at = end - 1
    } else if (character <= space) {
      at = endOfSpace(text, at) - 1
    }
  }
  return {
    tooDeep: open.length > depthMax,
    tooMany: members > membersMax,
    tooMuchNamed: nameCharacters > nameCharactersMax,
    duplicate,
    members,
    hasLongNumber,
  }
}
