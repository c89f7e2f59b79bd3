import { limits } from '../../limits.ts'
import type { Clock } from '../../runtime/clock.ts'

const intervalMs = 1_000 / limits.vendorQuestionsPerSecond

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
    if (fullMs - nowMs > limits.vendorQuestionsInRowMax * intervalMs) return false
    this.#fullMs.set(vendor, fullMs)
    return true
  }
}
