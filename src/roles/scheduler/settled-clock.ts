import { limits } from '../../limits.ts'
import type { Clock } from '../role.ts'

/**
 * The wall clock for deadlines of money that somebody may still be spending: when it is set forward, the time that nobody has lived counts
 * only once whatever was open then has had its time.
 */
export class SettledClock {
  readonly #clock: Clock
  readonly #steadyMs: () => number
  /** Of the wall clock from the steady one, as far as it is believed. */
  #offsetMs: number
  #aheadSinceMs: number | null = null

  /** `steadyMs` never jumps. */
  constructor(clock: Clock, steadyMs: () => number = () => performance.now()) {
    this.#clock = clock
    this.#steadyMs = steadyMs
    this.#offsetMs = clock() - steadyMs()
  }

  /** Milliseconds since the epoch. Ask at least every second: what the clock drifts in between must not look like a jump. */
  nowMs(): number {
    const steadyMs = this.#steadyMs()
    const offsetMs = this.#clock() - steadyMs
    if (offsetMs <= this.#offsetMs + limits.clockJumpMs) this.#believe(offsetMs)
    else {
      this.#aheadSinceMs ??= steadyMs
      if (steadyMs - this.#aheadSinceMs >= limits.clockSettleMs) this.#believe(offsetMs)
    }
    return steadyMs + this.#offsetMs
  }

  #believe(offsetMs: number): void {
    this.#offsetMs = offsetMs
    this.#aheadSinceMs = null
  }
}
