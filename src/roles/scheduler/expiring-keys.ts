import type { Key } from '../../domain/accounts/accounts.ts'
import type { LedgerTail } from '../ledger-tail.ts'

/** Which working keys are past their expiry. They are looked through only when one may be. */
export class ExpiringKeys {
  readonly #tail: Pick<LedgerTail, 'ledger' | 'onApplied'>
  /** No working key expires before. */
  #earliestMs = Number.NEGATIVE_INFINITY
  readonly #unlisten: () => void

  constructor(tail: Pick<LedgerTail, 'ledger' | 'onApplied'>) {
    this.#tail = tail
    this.#unlisten = tail.onApplied((applied) => {
      for (const { event } of applied)
        if ((event.type === 'KeyIssued' || event.type === 'KeyExpirySet') && event.data.expiresAt !== undefined)
          this.#earliestMs = Math.min(this.#earliestMs, Date.parse(event.data.expiresAt))
    })
  }

  at(nowMs: number): readonly Key[] {
    if (nowMs < this.#earliestMs) return []
    const expired: Key[] = []
    this.#earliestMs = Number.POSITIVE_INFINITY
    for (const key of this.#tail.ledger.accounts.keysBySha256.values()) {
      if (key.expiresAtMs === null) continue
      this.#earliestMs = Math.min(this.#earliestMs, key.expiresAtMs)
      if (key.expiresAtMs <= nowMs) expired.push(key)
    }
    return expired
  }

  stop(): void {
    this.#unlisten()
  }
}
