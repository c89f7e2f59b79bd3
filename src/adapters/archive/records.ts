import { isObject, parseJson } from '../../encoding/json.ts'
import type { RawFrame } from '../../log/raw-frames.ts'
import { archiveLimits } from './limits.ts'

/** The frames of a segment: for each a line of JSON about it, its bytes, a line feed. */
const lineFeed = 0x0a

type Header = Omit<RawFrame, 'data'> & { readonly bytes: number }

const headerOf = ({ sequence, subject, id, storedMs, data }: RawFrame): Header => ({
  sequence,
  subject,
  id,
  storedMs,
  bytes: data.length,
})

export const encodeFrameRecord = (frame: RawFrame): Buffer =>
  Buffer.concat([Buffer.from(`${JSON.stringify(headerOf(frame))}\n`), frame.data, Buffer.of(lineFeed)])

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const isHeader = (value: unknown): value is Header => {
  if (!isObject(value)) return false
  const { sequence, subject, id, storedMs, bytes } = value
  if (typeof subject !== 'string' || typeof id !== 'string') return false
  return isCount(sequence) && isCount(storedMs) && isCount(bytes) && bytes <= archiveLimits.archiveFrameBytesMax
}

const parseHeader = (line: Buffer): Header => {
  const header = parseJson(line.toString())
  if (!isHeader(header)) throw new Error('the header of a frame is malformed')
  return header
}

class Pieces {
  #pieces: Buffer[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#length += piece.length
  }

  whole(): Buffer {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces, this.#length)]
    return this.#pieces[0] ?? Buffer.alloc(0)
  }

  take(length: number): Buffer {
    const whole = this.whole()
    this.#pieces = length === whole.length ? [] : [whole.subarray(length)]
    this.#length -= length
    return whole.subarray(0, length)
  }
}

class RecordReader {
  readonly #pieces = new Pieces()
  #header: Header | null = null

  get isBetweenRecords(): boolean {
    return this.#header === null && this.#pieces.length === 0
  }

  push(chunk: Buffer): void {
    this.#pieces.push(chunk)
  }

  /** Null where more bytes are needed. Throws where the bytes are no record. */
  next(): RawFrame | null {
    this.#header ??= this.#takeHeader()
    if (this.#header === null || this.#pieces.length <= this.#header.bytes) return null
    const { bytes, ...header } = this.#header
    const record = this.#pieces.take(bytes + 1)
    if (record[bytes] !== lineFeed) throw new Error(`frame ${header.sequence} is longer than its header states`)
    this.#header = null
    return { ...header, data: record.subarray(0, bytes) }
  }

  #takeHeader(): Header | null {
    if (this.#pieces.length === 0) return null
    const end = this.#pieces.whole().indexOf(lineFeed)
    if (end >= 0) return parseHeader(this.#pieces.take(end + 1))
    if (this.#pieces.length > archiveLimits.archiveHeaderBytesMax) throw new Error('the header of a frame has no end')
    return null
  }
}

interface DecodedFrames {
  readonly frames: readonly RawFrame[]
  readonly fault: unknown
}

const decodeFrames = (reader: RecordReader, first: number): DecodedFrames => {
  const frames: RawFrame[] = []
  try {
    for (let frame = reader.next(); frame !== null; frame = reader.next()) {
      const due = first + frames.length
      if (frame.sequence !== due) throw new Error(`frame ${frame.sequence} is in the place of frame ${due}`)
      frames.push(frame)
    }
    return { frames, fault: null }
  } catch (fault) {
    return { frames, fault }
  }
}

/** Yields frames of the sequences `first` to `last`. Throws at the first fault, after the frames before it. */
export async function* readRecords(
  chunks: AsyncIterable<Buffer>,
  first: number,
  last: number,
): AsyncIterable<readonly RawFrame[]> {
  const reader = new RecordReader()
  let next = first
  for await (const chunk of chunks) {
    reader.push(chunk)
    const { frames, fault } = decodeFrames(reader, next)
    next += frames.length
    if (frames.length > 0) yield frames
    if (fault !== null) throw fault
  }
  if (!reader.isBetweenRecords || next !== last + 1) throw new Error(`it ends before frame ${last} does`)
}
