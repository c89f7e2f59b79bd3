import type { PlanPublished } from '../../events/types.ts'
import { dayMs } from '../instant.ts'

export type Period = PlanPublished['period']
export const periods: readonly Period[] = ['day', 'month', 'year']

const monthsOf = { month: 1, year: 12 } as const

/** 1 to 31, in UTC, for an instant in milliseconds since the epoch. */
export const dayOfMonth = (instantMs: number): number => new Date(instantMs).getUTCDate()

/** `month` counts from 0, and may exceed 11. */
const daysInMonth = (year: number, month: number): number => dayOfMonth(Date.UTC(year, month + 1, 0))

/** In UTC: the same time of day on the anchor day (1 to 31), or on the month's last day where it has no such day. */
export const endOfPeriod = (startsAtMs: number, period: Period, anchorDay: number): number => {
  if (period === 'day') return startsAtMs + dayMs
  const start = new Date(startsAtMs)
  const [year, month] = [start.getUTCFullYear(), start.getUTCMonth() + monthsOf[period]]
  return Date.UTC(year, month, Math.min(anchorDay, daysInMonth(year, month))) + (startsAtMs % dayMs)
}
