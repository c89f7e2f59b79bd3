import type { HoldPurpose } from '../../domain/wallet/wallet.ts'
import { parsePicos } from '../schema/columns.ts'
import type { ReadModels } from '../schema/tables.ts'

export interface OpenHold {
  readonly holdId: string
  readonly purpose: HoldPurpose
  readonly amountPicos: bigint
  readonly remainingPicos: bigint
  readonly deadline: Date
}

export interface HoldQuery {
  readonly after?: string | undefined
  readonly limit: number
}

/** Ordered by id. */
export const selectHolds = async (
  db: ReadModels,
  workspaceId: string,
  { after, limit }: HoldQuery,
): Promise<readonly OpenHold[]> => {
  let query = db
    .selectFrom('holds')
    .select(['hold_id', 'purpose', 'amount', 'remaining', 'deadline'])
    .where('workspace_id', '=', workspaceId)
    .orderBy('hold_id')
    .limit(limit)
  if (after !== undefined) query = query.where('hold_id', '>', after)
  return (await query.execute()).map((row) => ({
    holdId: row.hold_id,
    purpose: row.purpose,
    amountPicos: parsePicos(row.amount),
    remainingPicos: parsePicos(row.remaining),
    deadline: row.deadline,
  }))
}
