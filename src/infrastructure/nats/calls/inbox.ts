import { limits } from '../../../limits.ts'

/** What has come over a link, and what the peer knows of that. */
export class Inbox {
  #received = 0
  #toldNumber = 0
  #untoldBytes = 0
  #isGapTold = false

  /** The last number up to which all has come. */
  get received(): number {
    return this.#received
  }

  get hasUntold(): boolean {
    return this.#received > this.#toldNumber
  }

  /** So much has come that the peer should not wait for the next tick. */
  get isUntoldLong(): boolean {
    return this.#untoldBytes >= limits.callsAckBytes
  }

  /** True when the message is the next one, which then counts as received. */
  accept(number: number, bytes: number): boolean {
    // What comes again was sent again because its sender does not know that it came.
    if (number <= this.#received) this.#toldNumber = 0
    if (number !== this.#received + 1) return false
    this.#received = number
    this.#untoldBytes += bytes
    this.#isGapTold = false
    return true
  }

  /** True when messages up to this number are missing and that was not said yet. */
  discoverGap(number: number): boolean {
    if (number <= this.#received || this.#isGapTold) return false
    this.#isGapTold = true
    return true
  }

  /** Every message that leaves tells what has come. */
  told(): void {
    this.#toldNumber = this.#received
    this.#untoldBytes = 0
  }
}
