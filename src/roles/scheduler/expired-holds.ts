import type { Ledger } from '../../domain/ledger/ledger.ts'
import type { Hold } from '../../domain/wallet/wallet.ts'
import { DeadlineIndex, type DeadlineSource } from './deadline-index.ts'

function* openHolds({ wallets }: Ledger): Generator<Hold> {
  for (const { holds } of wallets.values()) yield* holds.values()
}

export const expiredHolds = (tail: DeadlineSource): DeadlineIndex<Hold> =>
  new DeadlineIndex(tail, {
    deadlineIn: (event) => (event.type === 'HoldPlaced' ? event.data.deadline : undefined),
    openItems: openHolds,
    deadlineMsOf: ({ deadlineMs }) => deadlineMs,
  })
