import type { PlanPublished } from '../../events/types.ts'
import { dayOfMonth } from './period.ts'

/** A plan that a workspace has. */
export interface Subscription {
  readonly subscriptionId: string
  readonly workspaceId: string
  /** As they were when the period began. */
  readonly terms: PlanPublished
  /** Of the period under way; milliseconds since the epoch. */
  readonly startsAtMs: number
  readonly expiresAtMs: number
  /** The day of the month, 1 to 31, on which months and years begin where they can. */
  readonly anchorDay: number
  readonly renews: boolean
}

/** The terms alone of whatever has them, its members in one order. */
export const termsOf = ({ planId, name, price, period, includedCredit, limits }: PlanPublished): PlanPublished => ({
  planId,
  name,
  price,
  period,
  includedCredit,
  limits,
})

/** Of the period after this one: days have no anchor, so months that follow them begin one. */
export const nextAnchorDay = ({ terms, expiresAtMs, anchorDay }: Subscription): number =>
  terms.period === 'day' ? dayOfMonth(expiresAtMs) : anchorDay

/** What a period's fee and its credit stand under in the statement. */
export const periodReference = (subscriptionId: string, startsAt: string): string => `${subscriptionId}@${startsAt}`
