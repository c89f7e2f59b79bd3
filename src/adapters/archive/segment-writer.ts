import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip, type Gzip } from 'node:zlib'
import type { RawFrame } from '../../log/raw-frames.ts'
import { publishDraft, toDraftPath } from './files.ts'
import { archiveLimits } from './limits.ts'
import type { Segment } from './manifest.ts'
import { encodeFrameRecord } from './records.ts'

const digits = 16
export const formatPlace = (sequence: number): string => String(sequence).padStart(digits, '0')

export const segmentsFolder = 'segments'

export const segmentEnding = '.frames.gz'

const segmentNamePattern = /^(\d{16})-\d{16}\.frames\.gz$/

export const formatSegmentFile = (first: number, last: number): string =>
  `${segmentsFolder}/${formatPlace(first)}-${formatPlace(last)}${segmentEnding}`

export const parseSegmentStart = (name: string): number | null => {
  const first = segmentNamePattern.exec(name)?.[1]
  return first === undefined ? null : Number(first)
}

/** A segment that is being written; readers see it only when it is finished. */
export class SegmentWriter {
  readonly first: number
  readonly #folder: string
  readonly #draft: string
  readonly #gzip: Gzip = createGzip({ chunkSize: archiveLimits.archiveChunkBytes })
  readonly #hash = createHash('sha256')
  readonly #written: Promise<void>
  #fileBytes = 0
  #bytes = 0

  constructor(folder: string, first: number) {
    this.first = first
    this.#folder = folder
    // Its end is not known yet: its final name is given in `finish`.
    this.#draft = join(folder, segmentsFolder, formatPlace(first))
    const file = createWriteStream(toDraftPath(this.#draft), { flush: true })
    this.#written = pipeline(this.#gzip, (chunks: AsyncIterable<Buffer>) => this.#count(chunks), file)
    this.#written.catch(() => {}) // The next write, or `finish`, rejects with it.
  }

  get bytes(): number {
    return this.#bytes
  }

  async write(frame: RawFrame): Promise<void> {
    const record = encodeFrameRecord(frame)
    this.#bytes += record.length
    if (!this.#gzip.write(record)) await Promise.race([once(this.#gzip, 'drain'), this.#written])
  }

  async finish(last: number, checkpoint: string): Promise<Segment> {
    this.#gzip.end()
    await this.#written
    const file = formatSegmentFile(this.first, last)
    await publishDraft(this.#draft, join(this.#folder, file))
    const sha256 = this.#hash.digest('hex')
    return { file, first: this.first, last, bytes: this.#bytes, file_bytes: this.#fileBytes, sha256, checkpoint }
  }

  async drop(): Promise<void> {
    this.#gzip.destroy()
    await this.#written.catch(() => {}) // Breaking it off is intended.
    await rm(toDraftPath(this.#draft), { force: true })
  }

  async *#count(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk)
      this.#fileBytes += chunk.length
      yield chunk
    }
  }
}
