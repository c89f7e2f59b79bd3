import type { Selectable } from 'kysely'
import type { Subscription } from '../domain/plans/subscription.ts'
import type { KeySpending } from '../domain/wallet/spending.ts'
import { picosOf } from './columns.ts'
import { findSubscription } from './plans.ts'
import type { ReadModels } from './tables.ts'
import type { KeySpendingTable } from './wallet.table.ts'

export const keySpendingOf = (row: Selectable<KeySpendingTable>): KeySpending => ({
  day: row.day,
  spent: {
    dayPicos: picosOf(row.spent_day),
    monthPicos: picosOf(row.spent_month),
    totalPicos: picosOf(row.spent_total),
  },
  held: { dayPicos: picosOf(row.held_day), monthPicos: picosOf(row.held_month), totalPicos: picosOf(row.held_total) },
})

/** How a wallet stands, in picos. */
export interface WalletFigures {
  readonly workspaceId: string
  readonly creditsPicos: bigint
  readonly chargedPicos: bigint
  readonly feesPicos: bigint
  readonly adjustmentsPicos: bigint
  readonly lapsedPicos: bigint
  readonly balancePicos: bigint
  readonly heldPicos: bigint
  readonly creditLimitPicos: bigint
  /** What a new hold may take. */
  readonly availablePicos: bigint
}

/** Undefined for a workspace that the tables do not know (yet). */
export const findWallet = async (db: ReadModels, workspaceId: string): Promise<WalletFigures | undefined> => {
  const row = await db.selectFrom('wallets').selectAll().where('workspace_id', '=', workspaceId).executeTakeFirst()
  if (row === undefined) return undefined
  const balancePicos = picosOf(row.balance)
  const heldPicos = picosOf(row.held)
  const creditLimitPicos = picosOf(row.credit_limit)
  return {
    workspaceId,
    creditsPicos: picosOf(row.credits),
    chargedPicos: picosOf(row.charges),
    feesPicos: picosOf(row.fees),
    adjustmentsPicos: picosOf(row.adjustments),
    lapsedPicos: picosOf(row.lapsed),
    balancePicos,
    heldPicos,
    creditLimitPicos,
    availablePicos: balancePicos + creditLimitPicos - heldPicos,
  }
}

/** A wallet with the plan that its workspace has. */
export const findBilling = async (
  db: ReadModels,
  workspaceId: string,
): Promise<(WalletFigures & { readonly subscription: Subscription | null }) | undefined> => {
  const wallet = await findWallet(db, workspaceId)
  return wallet === undefined ? undefined : { ...wallet, subscription: await findSubscription(db, workspaceId) }
}
