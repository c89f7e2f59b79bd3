import { providerLimits } from './limits.ts'

/** One block of a stream, including its blank line. */
export interface SseEvent {
  /** The bytes received; views of the pushed bytes where the event came in one piece. */
  readonly raw: Uint8Array
  /** Null for a block without data: comments, blank lines. */
  readonly data: string | null
  readonly name: string | null
  /** The line feed of a CRLF that was cut in two: it belongs to the previous event. */
  readonly tail: boolean
}

const lineFeed = 10
const carriageReturn = 13
const lineEnd = /\r\n|\r|\n/
const byteOrderMark = '\uFEFF'

const fieldValue = (line: string, colon: number): string => line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)

const parseLines = (text: string): Pick<SseEvent, 'data' | 'name'> => {
  const data: string[] = []
  let name: string | null = null
  for (const line of text.split(lineEnd)) {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : fieldValue(line, colon)
    if (field === 'data') data.push(value)
    if (field === 'event') name = value
  }
  return { data: data.length === 0 ? null : data.join('\n'), name }
}

const withoutLineEnds = (text: string): string => {
  let length = text.length
  while (length > 0 && (text.charCodeAt(length - 1) === lineFeed || text.charCodeAt(length - 1) === carriageReturn))
    length -= 1
  return text.slice(0, length)
}

/** Nearly all events with a name are one line of it and one of data; null for any other. */
const parseNamed = (text: string): Pick<SseEvent, 'data' | 'name'> | null => {
  const second = text.indexOf('\n') + 1
  if (!text.startsWith('event:') || !text.startsWith('data:', second)) return null
  const name = fieldValue(withoutLineEnds(text.slice(0, second)), 5)
  return { name, data: fieldValue(withoutLineEnds(text.slice(second)), 4) }
}

const textOf = (raw: Uint8Array): string =>
  (raw instanceof Buffer ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)).toString()

const parse = (raw: Uint8Array, lines: number): SseEvent => {
  const text = textOf(raw)
  if (lines === 1 && text.startsWith('data:'))
    return { raw, data: fieldValue(withoutLineEnds(text), 4), name: null, tail: false }
  const named = lines === 2 ? parseNamed(text) : null
  const { data, name } = named ?? parseLines(text.startsWith(byteOrderMark) ? text.slice(1) : text)
  return { raw, data, name, tail: false }
}

/** Yields the ends of lines: a line feed, or a carriage return with the line feed after it, if there is one. */
function* lineEndsOf(chunk: Uint8Array, from: number): Generator<number, void, undefined> {
  let feed = chunk.indexOf(lineFeed, from)
  let carriage = chunk.indexOf(carriageReturn, from)
  while (feed >= 0 || carriage >= 0) {
    const isCarriage = carriage >= 0 && (feed < 0 || carriage < feed)
    const end = isCarriage ? carriage : feed
    yield end
    if (isCarriage) carriage = chunk.indexOf(carriageReturn, end + 1)
    if (feed === end || (isCarriage && feed === end + 1)) feed = chunk.indexOf(lineFeed, Math.max(feed, end) + 1)
  }
}

export class SseEventTooLarge extends Error {
  readonly begin: readonly Uint8Array[]

  constructor(eventBytesMax: number, begin: readonly Uint8Array[]) {
    super(`an event of more than ${eventBytesMax} bytes`)
    this.begin = begin
  }
}

/** The bytes may be cut anywhere. Lines end with LF, CRLF or CR. Throws SseEventTooLarge beyond `eventBytesMax`. */
export class SseSplitter {
  readonly eventBytesMax: number
  #carried: Uint8Array[] = []
  #carriedBytes = 0
  #lineEmpty = true
  #lines = 0
  #afterCarriageReturn = false

  constructor(eventBytesMax: number = providerLimits.sseEventBytesMax) {
    this.eventBytesMax = eventBytesMax
  }

  push(chunk: Uint8Array): readonly SseEvent[] {
    const events: SseEvent[] = []
    let at = this.#skipCutLineFeed(chunk)
    let start = at === 1 && this.#carriedBytes === 0 ? 1 : 0
    if (start === 1) events.push({ raw: chunk.subarray(0, 1), data: null, name: null, tail: true })
    for (const end of lineEndsOf(chunk, at)) {
      const isBlank = this.#lineEmpty && end === at
      at = this.#afterLineEnd(chunk, end)
      this.#lineEmpty = true
      if (!isBlank) this.#lines += 1
      else {
        events.push(this.#complete(chunk.subarray(start, at)))
        start = at
      }
    }
    if (at < chunk.length) this.#lineEmpty = false
    if (start < chunk.length) this.#carry(chunk.subarray(start))
    return events
  }

  /** The rest after the last blank line when the stream ended; null where there is none. */
  end(): SseEvent | null {
    if (this.#carriedBytes === 0) return null
    if (!this.#lineEmpty) this.#lines += 1
    return this.#complete(new Uint8Array(0))
  }

  #skipCutLineFeed(chunk: Uint8Array): number {
    if (!this.#afterCarriageReturn || chunk.length === 0) return 0
    this.#afterCarriageReturn = false
    return chunk[0] === lineFeed ? 1 : 0
  }

  #afterLineEnd(chunk: Uint8Array, end: number): number {
    const at = end + 1
    if (chunk[end] === lineFeed) return at
    if (at === chunk.length) this.#afterCarriageReturn = true
    return chunk[at] === lineFeed ? at + 1 : at
  }

  #carry(piece: Uint8Array): void {
    this.#carriedBytes += piece.length
    this.#carried.push(piece)
    if (this.#carriedBytes > this.eventBytesMax) throw new SseEventTooLarge(this.eventBytesMax, this.#carried)
  }

  #complete(piece: Uint8Array): SseEvent {
    const whole = this.#carriedBytes === 0 ? piece : this.#join(piece)
    if (whole.length > this.eventBytesMax) throw new SseEventTooLarge(this.eventBytesMax, [whole])
    const event = parse(whole, this.#lines)
    this.#lines = 0
    return event
  }

  #join(piece: Uint8Array): Uint8Array {
    const whole = Buffer.concat([...this.#carried, piece])
    this.#carried = []
    this.#carriedBytes = 0
    return whole
  }
}
