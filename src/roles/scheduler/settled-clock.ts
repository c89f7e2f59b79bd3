import type { Clock } from '../../runtime/clock.ts'
import { schedulerLimits } from './limits.ts'

/**
 * The wall clock for whatever time does to money: when it is set forward, the time that nobody has lived counts only once the allowances that
 * were open then have had their time. A clock that is wrong from the start is believed.
 */
export class SettledClock {
  readonly #clock: Clock
  readonly #settleMs: number
  readonly #steadyMs: () => number
  /** Of the wall clock from the steady one, as far as it is believed. */
  #offsetMs: number
  #aheadSinceMs: number | null = null

  /** `steadyMs` never jumps. */
  constructor(clock: Clock, settleMs: number, steadyMs: () => number = () => performance.now()) {
    this.#clock = clock
    this.#settleMs = settleMs
    this.#steadyMs = steadyMs
    this.#offsetMs = clock() - steadyMs()
  }

  /** Milliseconds since the epoch. Ask at least every second: what the clock drifts in between must not look like a jump. */
  nowMs(): number {
    const steadyMs = this.#steadyMs()
    const offsetMs = this.#clock() - steadyMs
    if (offsetMs <= this.#offsetMs + schedulerLimits.clockJumpMs) this.#adopt(offsetMs)
    else {
      this.#aheadSinceMs ??= steadyMs
      if (steadyMs - this.#aheadSinceMs >= this.#settleMs) this.#adopt(offsetMs)
    }
    return steadyMs + this.#offsetMs
  }

  #adopt(offsetMs: number): void {
    this.#offsetMs = offsetMs
    this.#aheadSinceMs = null
  }
}
