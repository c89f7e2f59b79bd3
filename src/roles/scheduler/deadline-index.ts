import type { Key } from '../../domain/accounts/accounts.ts'
import type { Ledger } from '../../domain/ledger/ledger.ts'
import type { Hold } from '../../domain/wallet/wallet.ts'
import type { Event } from '../../events/envelope.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'

type DeadlineSource = Pick<LedgerTail, 'ledger' | 'onApplied'>

/** How items of a kind and their deadlines are read. Deadlines are milliseconds since the epoch. */
interface Kind<Item> {
  /** ISO 8601; undefined for an event without a deadline. */
  readonly deadlineIn: (event: Event) => string | undefined
  readonly openItems: (ledger: Ledger) => Iterable<Item>
  readonly deadlineMsOf: (item: Item) => number | null
}

/** There are tens of thousands of items: they are scanned only when one may be due. */
class DeadlineIndex<Item> {
  readonly #tail: DeadlineSource
  readonly #kind: Kind<Item>
  /** No open item has an earlier deadline. */
  #earliestMs = Number.NEGATIVE_INFINITY
  readonly #unlisten: () => void

  constructor(tail: DeadlineSource, kind: Kind<Item>) {
    this.#tail = tail
    this.#kind = kind
    this.#unlisten = tail.onApplied((applied) => {
      for (const { event } of applied) {
        const deadline = kind.deadlineIn(event)
        if (deadline !== undefined) this.#expect(Date.parse(deadline))
      }
    })
  }

  at(nowMs: number): readonly Item[] {
    if (nowMs < this.#earliestMs) return []
    const { openItems, deadlineMsOf } = this.#kind
    const overdue: Item[] = []
    this.#earliestMs = Number.POSITIVE_INFINITY
    for (const item of openItems(this.#tail.ledger)) {
      const deadlineMs = deadlineMsOf(item)
      if (deadlineMs === null) continue
      this.#expect(deadlineMs)
      if (deadlineMs <= nowMs) overdue.push(item)
    }
    return overdue
  }

  stop(): void {
    this.#unlisten()
  }

  #expect(deadlineMs: number): void {
    this.#earliestMs = Math.min(this.#earliestMs, deadlineMs)
  }
}

function* openHolds({ wallets }: Ledger): Generator<Hold> {
  for (const { holds } of wallets.values()) yield* holds.values()
}

/** Those that an edge spends from. A task goes on without the edge that took it. */
export const allowancesOwnedBy = (ledger: Ledger, owner: string): readonly Hold[] =>
  [...openHolds(ledger)].filter((hold) => hold.purpose === 'allowance' && hold.owner === owner)

export const expiredHolds = (tail: DeadlineSource): DeadlineIndex<Hold> =>
  new DeadlineIndex(tail, {
    deadlineIn: (event) => (event.type === 'HoldPlaced' ? event.data.deadline : undefined),
    openItems: openHolds,
    deadlineMsOf: ({ deadlineMs }) => deadlineMs,
  })

export const expiringKeys = (tail: DeadlineSource): DeadlineIndex<Key> =>
  new DeadlineIndex(tail, {
    deadlineIn: ({ type, data }) => (type === 'KeyIssued' || type === 'KeyExpirySet' ? data.expiresAt : undefined),
    openItems: ({ accounts }) => accounts.keysBySha256.values(),
    deadlineMsOf: ({ expiresAtMs }) => expiresAtMs,
  })
