import type { Selectable } from 'kysely'
import type { KeySpending } from '../domain/wallet/spending.ts'
import { picosOf } from './columns.ts'
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
  readonly adjustmentsPicos: bigint
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
    adjustmentsPicos: picosOf(row.adjustments),
    balancePicos,
    heldPicos,
    creditLimitPicos,
    availablePicos: balancePicos + creditLimitPicos - heldPicos,
  }
}
