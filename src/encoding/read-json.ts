import {
  closeBrace,
  closeBracket,
  comma,
  endOfEscapes,
  endOfSpace,
  endOfString,
  isSpace,
  openBrace,
  openBracket,
  quote,
  space,
} from './json-text.ts'

type ReadText = (text: string) => unknown

const colon = 0x3a

interface ReadingOptions {
  readonly read?: ReadText
  readonly pieceBytes?: number
  readonly stepBytes?: number
}

const defaultPieceBytes = 32 * 1024
const defaultStepBytes = 256 * 1024

const invalid = (): SyntaxError => new SyntaxError('not JSON')

const noRun = -1

/**
 * The ends of runs, which are items that are whole, from `from` on, in the order in which they are met: each the place of
 * the comma or bracket behind a run, or `noRun` where an item follows that is not whole in the text. One look finds the
 * runs of all objects and lists that are open at the end of the text: none is looked at again for what is around it.
 */
const findRuns = (text: string, from: number): { readonly ends: readonly number[]; readonly to: number } => {
  const commas = [noRun]
  let depth = 0
  for (let at = from; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character === quote) at = endOfString(text, at + 1)
    else if (character === comma) commas[depth] = at
    else if (character === openBrace || character === openBracket) {
      depth += 1
      commas[depth] = noRun
    } else if (character === closeBrace || character === closeBracket) {
      if (depth === 0) return { ends: [at], to: at + 1 }
      depth -= 1
    } else if (character <= space) at = endOfSpace(text, at) - 1
  }
  const ends: number[] = []
  for (let level = 0; level <= depth; level += 1) {
    if (commas[level] !== noRun) ends.push(commas[level]!)
    if (level < depth) ends.push(noRun)
  }
  return { ends: ends.length === 0 ? [noRun] : ends, to: text.length }
}

const endOfScalar = /[ \t\n\r,\]}]/g

/** A place in the bytes, and the piece from there on as characters. */
class Cursor {
  readonly bytes: Buffer
  readonly #options: Required<ReadingOptions>
  at = 0
  /** The bytes from `from` on as characters, one piece. */
  text = ''
  from = 0
  isLookedThrough = false
  lookedAtBytes = 0

  constructor(bytes: Buffer, options: Required<ReadingOptions>) {
    this.bytes = bytes
    this.#options = options
  }

  /** The first byte behind white space. */
  *next(): Generator<void, number | undefined> {
    while (isSpace(this.bytes[this.at])) {
      if (this.isStepOver()) yield
      const place = this.placeInText()
      this.moveTo(endOfSpace(this.text, place))
    }
    return this.bytes[this.at]
  }

  isStepOver(): boolean {
    if (this.lookedAtBytes < this.#options.stepBytes) return false
    this.lookedAtBytes = 0
    return true
  }

  fill(): void {
    this.from = this.at
    this.text = this.bytes.toString('latin1', this.at, this.at + this.#options.pieceBytes)
    this.isLookedThrough = false
  }

  placeInText(): number {
    if (this.at >= this.from + this.text.length) this.fill()
    return this.at - this.from
  }

  moveTo(place: number): void {
    this.lookedAtBytes += this.from + place - this.at
    this.at = this.from + place
  }

  take(to: number): string {
    const from = this.at
    this.moveTo(to)
    return this.bytes.toString('utf8', from, this.at)
  }

  /** A place at the end of the text at which no character of several bytes is cut. */
  endOfCharacters(): number {
    let end = this.text.length
    while (end > 0 && ((this.bytes[this.from + end] ?? 0) & 0xc0) === 0x80) end -= 1
    return end
  }
}

/** What is longer than a piece is read item by item; the rest by the parser, several items at once. */
class PieceReader {
  readonly #options: Required<ReadingOptions>
  readonly #cursor: Cursor
  /** Of the runs that the last look found, the last first. */
  #ends: number[] = []

  constructor(bytes: Buffer, options: Required<ReadingOptions>) {
    this.#options = options
    this.#cursor = new Cursor(bytes, options)
  }

  *readAll(): Generator<void, unknown> {
    const value = yield* this.#readValue()
    if ((yield* this.#cursor.next()) !== undefined) throw invalid()
    return value
  }

  *#readValue(): Generator<void, unknown> {
    switch (yield* this.#cursor.next()) {
      case openBracket:
        return yield* this.#readList()
      case openBrace:
        return yield* this.#readObject()
      case quote:
        return yield* this.#readString()
      default:
        return this.#readScalar()
    }
  }

  *#readList(): Generator<void, readonly unknown[]> {
    const list: unknown[] = []
    this.#cursor.at += 1
    for (let isLast = false; !isLast; ) {
      if (this.#cursor.isStepOver()) yield
      const run = yield* this.#takeRun(closeBracket)
      if (run === null) {
        list.push(yield* this.#readValue())
        isLast = yield* this.#takeSeparator(closeBracket)
        continue
      }
      isLast = run.isLast
      const items = this.#options.read(`[${run.text}]`) as readonly unknown[]
      if (items.length === 0 && !(isLast && list.length === 0)) throw invalid()
      for (const item of items) list.push(item)
    }
    return list
  }

  *#readObject(): Generator<void, object> {
    const members: (readonly [string, unknown])[] = []
    this.#cursor.at += 1
    for (let isLast = false; !isLast; ) {
      if (this.#cursor.isStepOver()) yield
      const run = yield* this.#takeRun(closeBrace)
      if (run === null) {
        if ((yield* this.#cursor.next()) !== quote) throw invalid()
        const name = yield* this.#readString()
        if ((yield* this.#cursor.next()) !== colon) throw invalid()
        this.#cursor.at += 1
        members.push([name, yield* this.#readValue()])
        isLast = yield* this.#takeSeparator(closeBrace)
        continue
      }
      isLast = run.isLast
      const read = Object.entries(this.#options.read(`{${run.text}}`) as object)
      if (read.length === 0 && !(isLast && members.length === 0)) throw invalid()
      for (const member of read) members.push(member)
    }
    return Object.fromEntries(members)
  }

  *#readString(): Generator<void, string> {
    const pieces: string[] = []
    this.#cursor.at += 1
    for (;;) {
      const place = this.#cursor.placeInText()
      const end = endOfString(this.#cursor.text, place)
      const isLast = end < this.#cursor.text.length
      const to = isLast ? end : place + endOfEscapes(this.#cursor.text.slice(place, this.#cursor.endOfCharacters()))
      if (to === place && !isLast) {
        if (place === 0) throw invalid()
        this.#cursor.fill()
        continue
      }
      pieces.push(this.#options.read(`"${this.#cursor.take(to)}"`) as string)
      if (this.#cursor.isStepOver()) yield
      if (!isLast) continue
      this.#cursor.at += 1
      return pieces.length === 1 ? pieces[0]! : pieces.join('')
    }
  }

  /** None is longer than a step, since the parser reads it in one. */
  #readScalar(): unknown {
    const from = this.#cursor.at
    for (let isLast = false; !isLast; ) {
      endOfScalar.lastIndex = this.#cursor.placeInText()
      isLast = endOfScalar.test(this.#cursor.text) || this.#cursor.text.length === 0
      this.#cursor.moveTo(isLast ? Math.max(0, endOfScalar.lastIndex - 1) : this.#cursor.text.length)
      if (this.#cursor.at - from > this.#options.stepBytes) throw invalid()
    }
    return this.#options.read(this.#cursor.bytes.toString('utf8', from, this.#cursor.at))
  }

  *#takeRun(closing: number): Generator<void, { readonly text: string; readonly isLast: boolean } | null> {
    if (this.#ends.length === 0) {
      yield* this.#cursor.next()
      this.#look()
    }
    const end = this.#ends.pop()!
    if (end === noRun) return null
    const separator = this.#cursor.bytes[end]
    if (separator !== comma && separator !== closing) throw invalid()
    const text = this.#cursor.bytes.toString('utf8', this.#cursor.at, end)
    this.#cursor.at = end + 1
    return { text, isLast: separator === closing }
  }

  #look(): void {
    if (this.#cursor.isLookedThrough) this.#cursor.fill()
    const place = this.#cursor.placeInText()
    const { ends, to } = findRuns(this.#cursor.text, place)
    this.#cursor.lookedAtBytes += to - place
    this.#cursor.isLookedThrough = to === this.#cursor.text.length
    for (let index = ends.length - 1; index >= 0; index -= 1)
      this.#ends.push(ends[index] === noRun ? noRun : this.#cursor.from + ends[index]!)
  }

  /** True for the closing one. */
  *#takeSeparator(closing: number): Generator<void, boolean> {
    const separator = yield* this.#cursor.next()
    if (separator !== comma && separator !== closing) throw invalid()
    this.#cursor.at += 1
    return separator === closing
  }
}

/**
 * As `JSON.parse` of valid UTF-8, in steps: at once, a text of 20 MB takes 50 to 100 ms. `read` is the parser of a piece,
 * by default `JSON.parse`. Throws SyntaxError, also for a number longer than a step, or what `read` throws.
 */
export function* readJsonInSteps(
  bytes: Buffer,
  { read = JSON.parse, pieceBytes = defaultPieceBytes, stepBytes = defaultStepBytes }: ReadingOptions = {},
): Generator<void, unknown> {
  if (bytes.length <= stepBytes) return read(bytes.toString())
  return yield* new PieceReader(bytes, { read, pieceBytes, stepBytes }).readAll()
}
