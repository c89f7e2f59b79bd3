import { natsLimits } from '../limits.ts'

/** What has come over a link, and what the peer knows of that. */
export class Inbox {
  #received = 0
  #ackedNumber = 0
  #unackedBytes = 0
  #isGapReported = false

  /** The last number up to which all has come. */
  get received(): number {
    return this.#received
  }

  get hasUnacked(): boolean {
    return this.#received > this.#ackedNumber
  }

  /** So much has come that the peer should not wait for the next tick. */
  get isAckOverdue(): boolean {
    return this.#unackedBytes >= natsLimits.callsAckBytes
  }

  /** True when the message is the next one, which then counts as received. */
  accept(number: number, bytes: number): boolean {
    // What comes again was sent again because its sender does not know that it came.
    if (number <= this.#received) this.#ackedNumber = 0
    if (number !== this.#received + 1) return false
    this.#received = number
    this.#unackedBytes += bytes
    this.#isGapReported = false
    return true
  }

  /** True when messages up to this number are missing and that was not said yet. */
  discoverGap(number: number): boolean {
    if (number <= this.#received || this.#isGapReported) return false
    this.#isGapReported = true
    return true
  }

  /** Every message that leaves tells what has come. */
  markAcked(): void {
    this.#ackedNumber = this.#received
    this.#unackedBytes = 0
  }
}
