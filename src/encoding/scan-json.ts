import {
  closeBrace,
  closeBracket,
  comma,
  endOfSpace,
  endOfString,
  openBrace,
  openBracket,
  quote,
  space,
} from './json-text.ts'

const zero = 0x30
const nine = 0x39

/** An integer with fewer digits is exact as a number. */
const longDigits = 16

const endOfDigits = (text: string, from: number): number => {
  let at = from
  for (; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character < zero || character > nine) break
  }
  return at
}

const readName = (bytes: string): string => {
  const text = Buffer.from(bytes, 'latin1').toString()
  try {
    return JSON.parse(`"${text}"`)
  } catch {
    return text // Not JSON; the parser reports it.
  }
}

/** Equal for equal names: their bytes, where no escape is among them. */
const comparableName = (bytes: string): string => {
  if (!bytes.includes('\\')) return bytes
  const name = readName(bytes)
  return name.isWellFormed() ? Buffer.from(name).toString('latin1') : JSON.stringify(name)
}

export interface JsonBounds {
  readonly depthMax: number
  /** Members and elements at all levels; an empty object or list counts as one. */
  readonly membersMax: number
  readonly nameCharactersMax?: number
  /** Of one name; a longer one has too many for all of them. */
  readonly oneNameCharactersMax?: number
  readonly differentNamesMax?: number
}

export interface JsonFindings {
  readonly tooDeep: boolean
  readonly tooMany: boolean
  readonly tooMuchNamed: boolean
  readonly tooManyNames: boolean
  /** The first name that one object has twice. */
  readonly duplicate: string | null
  readonly members: number
  /** A number has so many digits that it may not be exact as one. */
  readonly hasLongNumber: boolean
}

/** Of an open object: most of many small ones have one name. Undefined for a list. */
type Names = Set<string> | string | null | undefined

/**
 * Finds what a JSON parser does not report, in UTF-8 that comes in pieces, up to what is too deep or too many. Takes any
 * bytes: the parser checks them.
 */
export class JsonScanner {
  readonly #bounds: Required<JsonBounds>
  /** The names of what is around the innermost object or list. */
  readonly #around: Names[] = []
  #names: Names
  #nameIsNext = false
  #isInString = false
  #isInEscape = false
  /** What came of a name in the pieces before. */
  #nameStart = ''
  /** At the end of the piece before. */
  #digits = 0
  #members = 0
  #nameCharacters = 0
  readonly #allNames = new Set<string>()
  #duplicate: string | null = null
  #hasLongNumber = false

  constructor(bounds: JsonBounds) {
    const most = Number.POSITIVE_INFINITY
    this.#bounds = { nameCharactersMax: most, oneNameCharactersMax: most, differentNamesMax: most, ...bounds }
  }

  get findings(): JsonFindings {
    const { depthMax, membersMax, nameCharactersMax, differentNamesMax } = this.#bounds
    return {
      tooDeep: this.#around.length > depthMax,
      tooMany: this.#members > membersMax,
      tooMuchNamed: this.#nameCharacters > nameCharactersMax,
      tooManyNames: this.#allNames.size > differentNamesMax,
      duplicate: this.#duplicate,
      members: this.#members,
      hasLongNumber: this.#hasLongNumber,
    }
  }

  /** `piece`: the bytes as characters, as `latin1` has them. Not after what is beyond a bound. */
  push(piece: string): void {
    const { depthMax, membersMax, nameCharactersMax, differentNamesMax } = this.#bounds
    let at = 0
    if (this.#isInString) at = this.#readString(piece, 0, this.#isInEscape ? 1 : 0) + 1
    else if (this.#digits > 0) at = this.#readDigits(piece, 0)
    for (; at < piece.length; at += 1) {
      const character = piece.charCodeAt(at)
      if (character === quote) {
        at = this.#readString(piece, at + 1)
        if (this.#nameCharacters > nameCharactersMax || this.#allNames.size > differentNamesMax) return
      } else if (character === comma) {
        this.#members += 1
        if (this.#members > membersMax) return
        this.#nameIsNext = this.#names !== undefined
      } else if (character === openBrace || character === openBracket) {
        this.#members += 1
        this.#around.push(this.#names)
        if (this.#members > membersMax || this.#around.length > depthMax) return
        this.#nameIsNext = character === openBrace
        this.#names = this.#nameIsNext ? null : undefined
      } else if (character === closeBrace || character === closeBracket) {
        this.#names = this.#around.pop()
        this.#nameIsNext = false
      } else if (character >= zero && character <= nine) {
        at = this.#readDigits(piece, at) - 1
      } else if (character <= space) {
        at = endOfSpace(piece, at) - 1
      }
    }
  }

  /** Returns where its end quote is, or the end of the piece. */
  #readString(piece: string, from: number, unescapedFrom = from): number {
    const end = endOfString(piece, unescapedFrom)
    this.#isInString = end >= piece.length
    this.#isInEscape = end > piece.length
    if (this.#nameIsNext) this.#readName(piece.slice(from, end))
    return end
  }

  #readName(bytes: string): void {
    const isLong = this.#nameStart.length + bytes.length > this.#bounds.oneNameCharactersMax
    this.#nameCharacters += isLong ? Number.POSITIVE_INFINITY : bytes.length + 1
    if (this.#isInString) this.#nameStart += bytes
    else {
      this.#addName(this.#nameStart + bytes)
      this.#nameStart = ''
      this.#nameIsNext = false
    }
  }

  #addName(bytes: string): void {
    const name = comparableName(bytes)
    const names = this.#names
    this.#allNames.add(name)
    if (names === null || names === undefined) this.#names = name
    else if (typeof names === 'string' ? names === name : names.has(name)) this.#duplicate ??= readName(bytes)
    else if (typeof names === 'string') this.#names = new Set([names, name])
    else names.add(name)
  }

  #readDigits(piece: string, from: number): number {
    const end = endOfDigits(piece, from)
    this.#digits += end - from
    if (this.#digits >= longDigits) this.#hasLongNumber = true
    if (end < piece.length) this.#digits = 0
    return end
  }
}
