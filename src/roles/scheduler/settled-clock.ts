import type { Clock } from '../../runtime/clock.ts'
import { schedulerLimits } from './limits.ts'

/**
 * The wall clock for expiry and renewal: when it is set forward, the skipped time counts only once the allowances that
 * were open then have had their time. A clock that is wrong from the start is accepted.
 */
export class SettledClock {
  readonly #clock: Clock
  readonly #settleMs: number
  readonly #steadyMs: () => number
  /** The wall clock's offset from the steady one, as far as it is accepted. */
  #offsetMs: number
  #aheadSinceMs: number | null = null

  constructor(clock: Clock, settleMs: number, steadyMs: () => number = () => performance.now()) {
    this.#clock = clock
    this.#settleMs = settleMs
    this.#steadyMs = steadyMs
    this.#offsetMs = clock() - steadyMs()
  }

  /** Milliseconds since the epoch. Call it at least every second: drift in between must not pass for a jump. */
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
