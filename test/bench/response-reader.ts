import { chunkMark } from './content.ts'

const headEnd = '\r\n\r\n'
const lastChunk = '\r\n0\r\n\r\n' // No answer of the bench holds a carriage return, so this stands at the end of the last one only.
const mark = chunkMark.charCodeAt(0)

const marksIn = (bytes: Buffer, from: number): number => {
  let count = 0
  for (let at = bytes.indexOf(mark, from); at >= 0; at = bytes.indexOf(mark, at + 1)) count += 1
  return count
}

/** Reads the responses of one connection, one after the other. It knows as much of HTTP/1.1 as the servers measured here speak. */
export class ResponseReader {
  #head = ''
  #inBody = false
  #status = 0
  #bytesLeft: number | null = null
  #tail = ''
  #marks = 0

  get status(): number {
    return this.#status
  }

  /** How often the response says the mark. */
  get marks(): number {
    return this.#marks
  }

  /** Makes ready for the next response. */
  begin(): void {
    this.#head = ''
    this.#inBody = false
    this.#tail = ''
    this.#marks = 0
  }

  /** True when the response is complete with these bytes. */
  push(bytes: Buffer): boolean {
    const bodyFrom = this.#inBody ? 0 : this.#readHead(bytes)
    if (!this.#inBody) return false
    this.#marks += marksIn(bytes, bodyFrom)
    return this.#bytesLeft === null ? this.#endsChunked(bytes) : this.#endsCounted(bytes.length - bodyFrom)
  }

  /** Where the body begins in these bytes; their end where it does not. */
  #readHead(bytes: Buffer): number {
    const before = this.#head.length
    this.#head += bytes.toString('latin1')
    const end = this.#head.indexOf(headEnd)
    if (end < 0) return bytes.length
    this.#inBody = true
    const head = this.#head.slice(0, end)
    this.#status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#bytesLeft = length === undefined ? null : Number(length)
    return end + headEnd.length - before
  }

  #endsCounted(bytes: number): boolean {
    this.#bytesLeft! -= bytes
    return this.#bytesLeft === 0
  }

  #endsChunked(bytes: Buffer): boolean {
    const from = Math.max(0, bytes.length - lastChunk.length)
    this.#tail = (this.#tail + bytes.toString('latin1', from)).slice(-lastChunk.length)
    return this.#tail === lastChunk
  }
}
