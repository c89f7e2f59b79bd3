import { sql } from 'kysely'
import type { Subscription } from '../../domain/plans/subscription.ts'
import { parsePicos } from '../schema/columns.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'
import { selectOtherDebits } from '../statements/other-debits.ts'
import { selectUsage } from '../usage/queries.ts'

const subscriptionFromRow = (row: StoredRow<'subscriptions'>): Subscription => ({
  subscriptionId: row.subscription_id,
  workspaceId: row.workspace_id,
  terms: row.terms,
  startsAtMs: row.starts_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
  anchorDay: row.anchor_day,
  renews: row.renews,
})

const findSubscription = async (db: ReadModels, workspaceId: string): Promise<Subscription | null> => {
  const row = await db
    .selectFrom('subscriptions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return row === undefined ? null : subscriptionFromRow(row)
}

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

/** Of requests and tasks: not of payments, and not what names no charge. */
const sumUsageAdjustments = async (db: ReadModels, workspaceId: string): Promise<bigint> => {
  const entries = sql`select * from wallet_entries where workspace_id = ${workspaceId} and kind = 'adjustment'
    and kind <> 'charge'` // Of the index of movements other than charges.
  const debits = await selectOtherDebits(db, entries)
  return debits
    .filter(({ isPayment, allocation }) => !isPayment && allocation.keyId !== '')
    .reduce((sum, { debitPicos }) => sum - debitPicos, 0n)
}

export const findBilling = async (db: ReadModels, workspaceId: string) => {
  const wallet = await findWalletFigures(db, workspaceId)
  if (wallet === undefined) return undefined
  const usageAdjustmentsPicos = await sumUsageAdjustments(db, workspaceId)
  return { ...wallet, usageAdjustmentsPicos, subscription: await findSubscription(db, workspaceId) }
}

export interface BalanceSnapshot {
  readonly wallet: WalletFigures
  /** Days in UTC with charges, oldest first. */
  readonly days: readonly { readonly day: string; readonly spentPicos: bigint }[]
}

export const findBalanceSnapshot = async (
  db: ReadModels,
  workspaceId: string,
  { from, daysMax }: { readonly from: string; readonly daysMax: number },
): Promise<BalanceSnapshot | undefined> => {
  const wallet = await findWalletFigures(db, workspaceId)
  if (wallet === undefined) return undefined
  const sums = await selectUsage(db, workspaceId, { from, to: null, groupBy: ['day'], limit: daysMax })
  const days = sums.filter(({ requests }) => requests > 0n)
  return { wallet, days: days.map(({ group: [day = ''], totalPicos }) => ({ day, spentPicos: totalPicos })) }
}
