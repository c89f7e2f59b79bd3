import { natsLimits } from '../limits.ts'

export class Inbox {
  #received = 0
  #ackedNumber = 0
  #unackedBytes = 0
  #isGapReported = false

  get received(): number {
    return this.#received
  }

  get hasUnacked(): boolean {
    return this.#received > this.#ackedNumber
  }

  get isAckOverdue(): boolean {
    return this.#unackedBytes >= natsLimits.callsAckBytes
  }

  accept(number: number, bytes: number): boolean {
    // A repeated message means that its sender lacks our acknowledgement.
    if (number <= this.#received) this.#ackedNumber = 0
    if (number !== this.#received + 1) return false
    this.#received = number
    this.#unackedBytes += bytes
    this.#isGapReported = false
    return true
  }

  discoverGap(number: number): boolean {
    if (number <= this.#received || this.#isGapReported) return false
    this.#isGapReported = true
    return true
  }

  /** Called for every message sent, since each carries an acknowledgement. */
  markAcked(): void {
    this.#ackedNumber = this.#received
    this.#unackedBytes = 0
  }
}
