import {
  closeBrace,
  closeBracket,
  comma,
  endOfEscapes,
  endOfSpace,
  endOfString,
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

/** What is not whole within a piece is looked at again for each object and list around it. */
const defaultPieceBytes = 32 * 1024
const defaultStepBytes = 256 * 1024

const invalid = (): SyntaxError => new SyntaxError('not JSON')

interface Run {
  /** Of the comma or bracket behind it. */
  readonly end: number
  readonly isLast: boolean
}

/** Those items at the begin of a text from a list or an object that are whole; null: not even the first one is. */
const findRun = (text: string): Run | null => {
  let [depth, end] = [0, -1]
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character === quote) at = endOfString(text, at + 1)
    else if (character === comma) {
      if (depth === 0) end = at
    } else if (character === openBrace || character === openBracket) depth += 1
    else if (character === closeBrace || character === closeBracket) {
      if (depth === 0) return { end: at, isLast: true }
      depth -= 1
    } else if (character <= space) at = endOfSpace(text, at) - 1
  }
  return end < 0 ? null : { end, isLast: false }
}

/** What is longer than a piece is read item by item; the rest by the parser, several items at once. */
class PieceReader {
  readonly #bytes: Buffer
  readonly #options: Required<ReadingOptions>
  #at = 0
  #lookedAtBytes = 0

  constructor(bytes: Buffer, options: Required<ReadingOptions>) {
    this.#bytes = bytes
    this.#options = options
  }

  *readAll(): Generator<void, unknown> {
    const value = yield* this.#readValue()
    if (this.#next() !== undefined) throw invalid()
    return value
  }

  *#readValue(): Generator<void, unknown> {
    switch (this.#next()) {
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
    this.#at += 1
    for (let isLast = false; !isLast; ) {
      const run = this.#takeRun(closeBracket)
      if (run === null) {
        if (this.#isStepOver()) yield
        list.push(yield* this.#readValue())
        isLast = this.#takeSeparator(closeBracket)
        continue
      }
      isLast = run.isLast
      const items = this.#options.read(`[${run.text}]`) as readonly unknown[]
      if (items.length === 0 && !(isLast && list.length === 0)) throw invalid()
      for (const item of items) list.push(item)
      if (this.#isStepOver()) yield
    }
    return list
  }

  *#readObject(): Generator<void, object> {
    const members: (readonly [string, unknown])[] = []
    this.#at += 1
    for (let isLast = false; !isLast; ) {
      const run = this.#takeRun(closeBrace)
      if (run === null) {
        if (this.#isStepOver()) yield
        const name = yield* this.#readName()
        members.push([name, yield* this.#readValue()])
        isLast = this.#takeSeparator(closeBrace)
        continue
      }
      isLast = run.isLast
      const read = Object.entries(this.#options.read(`{${run.text}}`) as object)
      if (read.length === 0 && !(isLast && members.length === 0)) throw invalid()
      for (const member of read) members.push(member)
      if (this.#isStepOver()) yield
    }
    return Object.fromEntries(members)
  }

  *#readName(): Generator<void, string> {
    if (this.#next() !== quote) throw invalid()
    const name = yield* this.#readString()
    if (this.#next() !== colon) throw invalid()
    this.#at += 1
    return name
  }

  *#readString(): Generator<void, string> {
    const pieces: string[] = []
    this.#at += 1
    for (;;) {
      const text = this.#window()
      const end = endOfString(text, 0)
      const isLast = end < text.length
      const to = isLast ? end : endOfEscapes(text.slice(0, this.#endOfCharacters(text.length)))
      if (to === 0 && !isLast) throw invalid()
      pieces.push(this.#options.read(`"${this.#decode(to)}"`) as string)
      this.#at += to
      if (this.#isStepOver()) yield
      if (!isLast) continue
      this.#at += 1
      return pieces.join('')
    }
  }

  #readScalar(): unknown {
    const from = this.#at
    while (/[^\s,\]}]/.test(String.fromCharCode(this.#bytes[this.#at] ?? space))) this.#at += 1
    return this.#options.read(this.#bytes.toString('utf8', from, this.#at))
  }

  #takeRun(closing: number): { readonly text: string; readonly isLast: boolean } | null {
    this.#next()
    const run = findRun(this.#window())
    if (run === null) return null
    if (run.isLast && this.#bytes[this.#at + run.end] !== closing) throw invalid()
    const text = this.#decode(run.end)
    this.#at += run.end + 1
    return { text, isLast: run.isLast }
  }

  /** True for the closing one. */
  #takeSeparator(closing: number): boolean {
    const separator = this.#next()
    if (separator !== comma && separator !== closing) throw invalid()
    this.#at += 1
    return separator === closing
  }

  /** The first byte behind white space. */
  #next(): number | undefined {
    while (this.#bytes[this.#at]! <= space) {
      const text = this.#window()
      const end = endOfSpace(text, 0)
      this.#at += end
      if (end < text.length) break
    }
    return this.#bytes[this.#at]
  }

  #isStepOver(): boolean {
    if (this.#lookedAtBytes < this.#options.stepBytes) return false
    this.#lookedAtBytes = 0
    return true
  }

  #window(): string {
    const text = this.#bytes.toString('latin1', this.#at, this.#at + this.#options.pieceBytes)
    this.#lookedAtBytes += text.length
    return text
  }

  #decode(length: number): string {
    return this.#bytes.toString('utf8', this.#at, this.#at + length)
  }

  /** At most `length`, so that no character of several bytes is cut. */
  #endOfCharacters(length: number): number {
    let end = length
    while (end > 0 && ((this.#bytes[this.#at + end] ?? 0) & 0xc0) === 0x80) end -= 1
    return end
  }
}

/**
 * As `JSON.parse` of valid UTF-8, in steps: at once, a text of 20 MB takes 50 to 100 ms. `read` is the parser of a piece,
 * by default `JSON.parse`. Throws SyntaxError, or what `read` throws.
 */
export function* readJsonInSteps(
  bytes: Buffer,
  { read = JSON.parse, pieceBytes = defaultPieceBytes, stepBytes = defaultStepBytes }: ReadingOptions = {},
): Generator<void, unknown> {
  if (bytes.length <= stepBytes) return read(bytes.toString())
  return yield* new PieceReader(bytes, { read, pieceBytes, stepBytes }).readAll()
}
