import type { Hold } from '../../domain/wallet/wallet.ts'
import type { LedgerTail } from '../ledger-tail.ts'

/** Which open holds are past their deadlines. There are tens of thousands: they are looked through only when one may be. */
export class OverdueHolds {
  readonly #tail: Pick<LedgerTail, 'ledger' | 'onApplied'>
  /** No open hold has a deadline before. */
  #earliestMs = Number.NEGATIVE_INFINITY
  readonly #unlisten: () => void

  constructor(tail: Pick<LedgerTail, 'ledger' | 'onApplied'>) {
    this.#tail = tail
    this.#unlisten = tail.onApplied((applied) => {
      for (const { event } of applied)
        if (event.type === 'HoldPlaced') this.#earliestMs = Math.min(this.#earliestMs, Date.parse(event.data.deadline))
    })
  }

  at(nowMs: number): readonly Hold[] {
    if (nowMs < this.#earliestMs) return []
    const overdue: Hold[] = []
    this.#earliestMs = Number.POSITIVE_INFINITY
    for (const { holds } of this.#tail.ledger.wallets.values())
      for (const hold of holds.values()) {
        this.#earliestMs = Math.min(this.#earliestMs, hold.deadlineMs)
        if (hold.deadlineMs <= nowMs) overdue.push(hold)
      }
    return overdue
  }

  stop(): void {
    this.#unlisten()
  }
}
