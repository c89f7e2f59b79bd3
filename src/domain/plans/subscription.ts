import type { PlanPublished } from '../../events/types.ts'
import { dayOfMonth } from './period.ts'

export interface Subscription {
  readonly subscriptionId: string
  readonly workspaceId: string
  readonly terms: PlanPublished
  /** Of the current period; milliseconds since the epoch. */
  readonly startsAtMs: number
  readonly expiresAtMs: number
  /** The day of the month, 1 to 31, on which months and years begin where they can. */
  readonly anchorDay: number
  readonly renews: boolean
}

/** The terms alone, their members in a fixed order. */
export const termsOf = ({ planId, name, price, period, includedCredit, limits }: PlanPublished): PlanPublished => ({
  planId,
  name,
  price,
  period,
  includedCredit,
  limits,
})

/** Of the next period: periods counted in days have no anchor, so months that follow them begin one. */
export const nextAnchorDay = ({ terms, expiresAtMs, anchorDay }: Subscription): number =>
  terms.period === 'day' ? dayOfMonth(expiresAtMs) : anchorDay

export const periodReference = (subscriptionId: string, startsAt: string): string => `${subscriptionId}@${startsAt}`
