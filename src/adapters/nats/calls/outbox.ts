import { natsLimits } from '../limits.ts'
import { encodePackets, headerBytes, type Packet, packetBytes } from './message.ts'

interface SentMessage {
  readonly number: number
  readonly bytes: Buffer
}

export class Outbox {
  readonly #waiting: Packet[] = []
  readonly #sent: SentMessage[] = []
  #sentBytes = 0
  #lastNumber = 0

  get lastNumber(): number {
    return this.#lastNumber
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#sent.length === 0
  }

  get unacknowledged(): readonly SentMessage[] {
    return this.#sent
  }

  add(packet: Packet): void {
    this.#waiting.push(packet)
  }

  /** Keeps the message until acknowledged; null when nothing waits or `callsFlightBytesMax` is reached. */
  nextMessage(): SentMessage | null {
    if (this.#waiting.length === 0 || this.#sentBytes >= natsLimits.callsFlightBytesMax) return null
    const bytes = encodePackets(this.#waiting.splice(0, this.#countThatFit()))
    this.#lastNumber += 1
    const message = { number: this.#lastNumber, bytes }
    this.#sent.push(message)
    this.#sentBytes += bytes.length
    return message
  }

  acknowledge(number: number): boolean {
    const oldest = this.#sent[0]
    if (oldest === undefined || number < oldest.number || number > this.#lastNumber) return false
    for (const { bytes } of this.#sent.splice(0, number - oldest.number + 1)) this.#sentBytes -= bytes.length
    return true
  }

  #countThatFit(): number {
    let bytes = headerBytes
    let count = 0
    for (const packet of this.#waiting) {
      bytes += packetBytes(packet)
      if (count > 0 && bytes > natsLimits.callsMessageBytesMax) break
      count += 1
    }
    return count
  }
}
