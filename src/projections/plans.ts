import type { Selectable } from 'kysely'
import type { Subscription } from '../domain/plans/subscription.ts'
import type { SubscriptionTable } from './plans.table.ts'
import type { ReadModels } from './tables.ts'

export const subscriptionFromRow = (row: Selectable<SubscriptionTable>): Subscription => ({
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
