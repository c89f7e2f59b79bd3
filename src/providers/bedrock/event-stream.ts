import { crc32 } from 'node:zlib'
import { EventStreamCodec } from '@smithy/core/event-streams'
import { providerLimits } from '../dialect/limits.ts'

export interface StreamMessage {
  /** Of an event; `error` for an exception. */
  readonly name: string
  readonly payload: string
}

/** A message whose checksum or length is wrong, or that is too large. */
export class EventStreamFault extends Error {}

const lengthBytes = 4
const lengthsBytes = 8 // Of the message and of its headers, with a checksum of their own behind them.
const preludeBytes = 12
const overheadBytes = 16 // Two lengths, two checksums.

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
)

const readMessage = (bytes: Uint8Array): StreamMessage => {
  const { headers, body } = codec.decode(bytes)
  const isEvent = headers[':message-type']?.value === 'event'
  return {
    name: isEvent ? String(headers[':event-type']?.value) : 'error',
    payload: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(),
  }
}

/** Of `application/vnd.amazon.eventstream`; the bytes may be cut anywhere. Throws EventStreamFault. */
export class EventStreamSplitter {
  #carried: Uint8Array[] = []
  #carriedBytes = 0
  /** Of the message that has begun, or of its prelude; 0: nothing of it is known yet. */
  #wantedBytes = 0

  push(chunk: Uint8Array): readonly StreamMessage[] {
    this.#carried.push(chunk)
    this.#carriedBytes += chunk.length
    if (this.#carriedBytes < Math.max(lengthBytes, this.#wantedBytes)) return []
    const bytes = Buffer.concat(this.#carried)
    const messages: StreamMessage[] = []
    let at = 0
    this.#wantedBytes = 0
    while (bytes.length - at >= lengthBytes) {
      this.#wantedBytes = this.#readLength(bytes.subarray(at))
      if (bytes.length - at < this.#wantedBytes) break
      messages.push(this.#decode(bytes.subarray(at, at + this.#wantedBytes)))
      at += this.#wantedBytes
      this.#wantedBytes = 0
    }
    this.#carried = [bytes.subarray(at)]
    this.#carriedBytes = bytes.length - at
    return messages
  }

  /** That of the prelude until its checksum has come: a wrong length would be waited for. */
  #readLength(bytes: Buffer): number {
    const length = bytes.readUInt32BE()
    if (length < overheadBytes || length > providerLimits.sseEventBytesMax)
      throw new EventStreamFault(`a message of ${length} bytes`)
    if (bytes.length < preludeBytes) return preludeBytes
    if (crc32(bytes.subarray(0, lengthsBytes)) !== bytes.readUInt32BE(lengthsBytes))
      throw new EventStreamFault('a message whose length has another checksum')
    return length
  }

  #decode(bytes: Uint8Array): StreamMessage {
    try {
      return readMessage(bytes)
    } catch (cause) {
      throw new EventStreamFault('a message that cannot be read', { cause })
    }
  }
}
