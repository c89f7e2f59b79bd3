import type { Subscription } from '../../domain/plans/subscription.ts'
import { parsePicos } from '../schema/columns.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'
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

export const findBilling = async (
  db: ReadModels,
  workspaceId: string,
): Promise<(WalletFigures & { readonly subscription: Subscription | null }) | undefined> => {
  const wallet = await findWalletFigures(db, workspaceId)
  return wallet === undefined ? undefined : { ...wallet, subscription: await findSubscription(db, workspaceId) }
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
