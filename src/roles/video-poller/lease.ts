import type { WorkItem } from '../work-queue.ts'

/** An item in hand. Instants are milliseconds of the steady clock. */
export class Lease {
  readonly item: WorkItem
  readonly #leaseMs: number
  #renewedMs: number

  constructor(item: WorkItem, leaseMs: number, nowMs: number) {
    this.item = item
    this.#leaseMs = leaseMs
    this.#renewedMs = nowMs
  }

  /** True when the item may have gone to somebody else: this process was paused, or could not renew. */
  isLost(nowMs: number): boolean {
    return nowMs - this.#renewedMs >= this.#leaseMs
  }

  renewIfDue(nowMs: number, dueMs: number): void {
    if (nowMs - this.#renewedMs < dueMs) return
    this.item.renew()
    this.#renewedMs = nowMs
  }
}
