import type { PlanPublished } from '../events/types.ts'
import type { Instant, Json } from './columns.ts'

export interface PlanTable {
  readonly plan_id: string
  /** As it was published last. */
  readonly published: Json<PlanPublished>
}

/** The plan that a workspace has. */
export interface SubscriptionTable {
  readonly workspace_id: string
  readonly subscription_id: string
  readonly terms: Json<PlanPublished>
  readonly starts_at: Instant
  readonly expires_at: Instant
  readonly anchor_day: number
  readonly renews: boolean
}
