import type { Clock } from '../../runtime/clock.ts'
import { proxyLimits } from './limits.ts'

const intervalMs = 1_000 / proxyLimits.vendorQuestionsPerSecond

/** How often each vendor account may be asked about tasks that have ended: its pollers need the rest of its rate. */
export class QueryPace {
  readonly #clock: Clock
  /** By the name of the account: when all its turns are there again. */
  readonly #fullMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** False where there is none left for the moment. */
  next(vendor: string): boolean {
    const nowMs = this.#clock()
    const fullMs = Math.max(nowMs, this.#fullMs.get(vendor) ?? nowMs) + intervalMs
    if (fullMs - nowMs > proxyLimits.vendorQuestionsInRowMax * intervalMs) return false
    this.#fullMs.set(vendor, fullMs)
    return true
  }
}
