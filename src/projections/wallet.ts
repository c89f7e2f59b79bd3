import type { Selectable } from 'kysely'
import type { Subscription } from '../domain/plans/subscription.ts'
import type { KeySpending } from '../domain/wallet/spending.ts'
import { parsePicos } from './columns.ts'
import { findSubscription } from './plans.ts'
import type { ReadModels } from './tables.ts'
import type { KeySpendingTable } from './wallet.table.ts'

export const keySpendingFromRow = (row: Selectable<KeySpendingTable>): KeySpending => ({
  day: row.day,
  spent: {
    dayPicos: parsePicos(row.spent_day),
    monthPicos: parsePicos(row.spent_month),
    totalPicos: parsePicos(row.spent_total),
  },
  held: {
    dayPicos: parsePicos(row.held_day),
    monthPicos: parsePicos(row.held_month),
    totalPicos: parsePicos(row.held_total),
  },
})

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
  readonly availablePicos: bigint
}

/** Undefined for a workspace that the tables do not have (yet). */
export const findWalletFigures = async (db: ReadModels, workspaceId: string): Promise<WalletFigures | undefined> => {
  const row = await db.selectFrom('wallets').selectAll().where('workspace_id', '=', workspaceId).executeTakeFirst()
  if (row === undefined) return undefined
  const balancePicos = parsePicos(row.balance)
  const heldPicos = parsePicos(row.held)
  const creditLimitPicos = parsePicos(row.credit_limit)
  return {
    workspaceId,
    creditsPicos: parsePicos(row.credits),
    chargedPicos: parsePicos(row.charges),
    feesPicos: parsePicos(row.fees),
    adjustmentsPicos: parsePicos(row.adjustments),
    lapsedPicos: parsePicos(row.lapsed),
    balancePicos,
    heldPicos,
    creditLimitPicos,
    availablePicos: balancePicos + creditLimitPicos - heldPicos,
  }
}

export const findBilling = async (
  db: ReadModels,
  workspaceId: string,
): Promise<(WalletFigures & { readonly subscription: Subscription | null }) | undefined> => {
  const wallet = await findWalletFigures(db, workspaceId)
  return wallet === undefined ? undefined : { ...wallet, subscription: await findSubscription(db, workspaceId) }
}
