import type { ReadModels } from './tables.ts'
import { selectUsage } from './usage.ts'
import { findWalletFigures, type WalletFigures } from './wallet.ts'

export interface BalanceSnapshot {
  readonly wallet: WalletFigures
  /** Days in UTC with charges, oldest first. */
  readonly days: readonly { readonly day: string; readonly spentPicos: bigint }[]
}

/** Undefined for a workspace that the tables do not have (yet). */
export const findBalanceSnapshot = async (
  db: ReadModels,
  workspaceId: string,
  { from, daysMax }: { readonly from: string; readonly daysMax: number },
): Promise<BalanceSnapshot | undefined> => {
  const wallet = await findWalletFigures(db, workspaceId)
  if (wallet === undefined) return undefined
  const sums = await selectUsage(db, workspaceId, { from, to: null, groupBy: ['day'], limit: daysMax })
  return { wallet, days: sums.map(({ group: [day = ''], totalPicos }) => ({ day, spentPicos: totalPicos })) }
}
