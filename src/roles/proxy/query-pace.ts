import type { Clock } from '../../runtime/clock.ts'
import { proxyLimits } from './limits.ts'

const intervalMs = 1_000 / proxyLimits.vendorQuestionsPerSecond

/** Limits a proxy's queries about tasks that have ended, by vendor account: its pollers need the rest of its rate. */
export class QueryPace {
  readonly #clock: Clock
  /** By account name: the instant at which its whole allowance is available again. */
  readonly #fullMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** False where the allowance is used up for the moment. */
  next(vendor: string): boolean {
    const nowMs = this.#clock()
    const fullMs = Math.max(nowMs, this.#fullMs.get(vendor) ?? nowMs) + intervalMs
    if (fullMs - nowMs > proxyLimits.vendorQuestionsInRowMax * intervalMs) return false
    this.#fullMs.set(vendor, fullMs)
    return true
  }
}
