import type { Subscription } from '../../domain/plans/subscription.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'

export const subscriptionFromRow = (row: StoredRow<'subscriptions'>): Subscription => ({
  subscriptionId: row.subscription_id,
  workspaceId: row.workspace_id,
  terms: row.terms,
  startsAtMs: row.starts_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
  anchorDay: row.anchor_day,
  renews: row.renews,
})

export const findSubscription = async (db: ReadModels, workspaceId: string): Promise<Subscription | null> => {
  const row = await db
    .selectFrom('subscriptions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return row === undefined ? null : subscriptionFromRow(row)
}
