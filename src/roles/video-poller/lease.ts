import type { WorkItem } from '../work-queue.ts'

/** Instants are milliseconds of the steady clock. */
export class Lease {
  readonly item: WorkItem
  readonly #leaseMs: number
  readonly #deliveries: number
  #renewedMs: number

  constructor(item: WorkItem, leaseMs: number, nowMs: number) {
    this.item = item
    this.#leaseMs = leaseMs
    this.#deliveries = item.deliveries
    this.#renewedMs = nowMs
  }

  /** True when another process may have the item: this one was paused, or cut off, or was handed the item once more. */
  isLost(nowMs: number): boolean {
    return this.item.deliveries !== this.#deliveries || nowMs - this.#renewedMs >= this.#leaseMs
  }

  renewIfDue(nowMs: number, dueMs: number): void {
    if (nowMs - this.#renewedMs < dueMs) return
    if (this.item.renew()) this.#renewedMs = nowMs
  }
}
