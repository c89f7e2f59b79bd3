import { natsLimits } from '../limits.ts'

export class Inbox {
  #received = 0
  #ackedNumber = 0
  #unackedBytes = 0
  #peerNumber = 0
  #requestedMs: number | null = null

  get received(): number {
    return this.#received
  }

  get hasUnacked(): boolean {
    return this.#received > this.#ackedNumber
  }

  get isAckOverdue(): boolean {
    return this.#unackedBytes >= natsLimits.callsAckBytes
  }

  accept(number: number, bytes: number, nowMs: number): boolean {
    // A repeated message means that its sender lacks our acknowledgement.
    if (number <= this.#received) this.#ackedNumber = 0
    if (number !== this.#received + 1) return false
    this.#received = number
    this.#unackedBytes += bytes
    this.#requestedMs = number < this.#peerNumber ? nowMs : null
    return true
  }

  notePeerNumber(number: number): void {
    this.#peerNumber = Math.max(this.#peerNumber, number)
  }

  get isComplete(): boolean {
    return this.#received >= this.#peerNumber
  }

  isRequestDue(nowMs: number): boolean {
    return !this.isComplete && (this.#requestedMs === null || nowMs - this.#requestedMs >= natsLimits.callsRequestMs)
  }

  markRequested(nowMs: number): void {
    this.#requestedMs = nowMs
  }

  /** Called for every message sent, since each carries an acknowledgement. */
  markAcked(): void {
    this.#ackedNumber = this.#received
    this.#unackedBytes = 0
  }
}
