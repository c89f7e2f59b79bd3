import type { PlanPublished } from '../events/types.ts'
import type { Instant, Json } from './columns.ts'

export interface PlanTable {
  readonly plan_id: string
  /** The latest published version. */
  readonly published: Json<PlanPublished>
}

export interface SubscriptionTable {
  readonly workspace_id: string
  readonly subscription_id: string
  readonly terms: Json<PlanPublished>
  readonly starts_at: Instant
  readonly expires_at: Instant
  readonly anchor_day: number
  readonly renews: boolean
}
