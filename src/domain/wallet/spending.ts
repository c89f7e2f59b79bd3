import type { Spend } from '../../events/types.ts'
import { formatUsd, parseUsd } from '../money.ts'
import type { Holder } from './holders.ts'

export type SpendPeriod = 'day' | 'month' | 'total'

/** Money in a UTC day, in the month of that day, and in total. */
type Tally = { readonly [Period in `${SpendPeriod}Picos`]: bigint }

/** As of the last day recorded for the holder. What counts for an earlier day is in the longer periods only. */
export interface Spending {
  /** `2026-11-21`. */
  readonly day: string
  readonly spent: Tally
  readonly held: Tally
}

/** Whose spending an amount counts for, and on which day. */
export interface SpendingHolders {
  readonly holders: readonly Holder[]
  readonly day: string
}

/** USD that a holder may spend, in picos. */
export type SpendLimits = readonly { readonly period: SpendPeriod; readonly limitPicos: bigint }[]

const periods: readonly SpendPeriod[] = ['day', 'month', 'total']

export const spendLimitsOf = (spend: Spend = {}): SpendLimits =>
  periods.flatMap((period) => {
    const usd = spend[period]
    return usd === undefined ? [] : [{ period, limitPicos: parseUsd(usd) }]
  })

export const spendOf = (limits: SpendLimits): Spend =>
  Object.fromEntries(limits.map(({ period, limitPicos }) => [period, formatUsd(limitPicos)]))

const noTally: Tally = { dayPicos: 0n, monthPicos: 0n, totalPicos: 0n }

export const noSpending: Spending = { day: '', spent: noTally, held: noTally }

const monthOf = (day: string): string => day.slice(0, 7)

/** Days never go back: a writer whose clock is behind counts for the day that others have begun. */
export const spendDayOf = ({ day: last }: Spending, day: string): string => (day > last ? day : last)

const begun = (tally: Tally, isSameMonth: boolean): Tally => ({
  ...tally,
  dayPicos: 0n,
  monthPicos: isSameMonth ? tally.monthPicos : 0n,
})

/** With the periods that are over on that day at zero. */
export const spendingInPeriod = (spending: Spending, day: string): Spending => {
  if (day <= spending.day) return spending
  const isSameMonth = monthOf(day) === monthOf(spending.day)
  return { day, spent: begun(spending.spent, isSameMonth), held: begun(spending.held, isSameMonth) }
}

const added = (tally: Tally, picos: bigint, isSameDay: boolean, isSameMonth: boolean): Tally => ({
  dayPicos: isSameDay ? tally.dayPicos + picos : tally.dayPicos,
  monthPicos: isSameMonth ? tally.monthPicos + picos : tally.monthPicos,
  totalPicos: tally.totalPicos + picos,
})

export const addSpending = (
  before: Spending,
  day: string,
  { spentPicos = 0n, heldPicos = 0n }: { readonly spentPicos?: bigint; readonly heldPicos?: bigint },
): Spending => {
  const spending = spendingInPeriod(before, day)
  const isSameDay = day === spending.day
  const isSameMonth = monthOf(day) === monthOf(spending.day)
  return {
    day: spending.day,
    spent: added(spending.spent, spentPicos, isSameDay, isSameMonth),
    held: added(spending.held, heldPicos, isSameDay, isSameMonth),
  }
}

export interface Remaining {
  readonly holder: Holder
  readonly period: SpendPeriod
  readonly limitPicos: bigint
  /** Below zero where the limit was lowered, or a charge exceeded its reservation. */
  readonly leftPicos: bigint
  readonly heldPicos: bigint
}

export const remainingUnderLimits = (
  holder: Holder,
  limits: SpendLimits,
  spending: Spending,
  day: string,
): readonly Remaining[] => {
  const { spent, held } = spendingInPeriod(spending, day)
  return limits.map(({ period, limitPicos }) => {
    const heldPicos = held[`${period}Picos`]
    return { holder, period, limitPicos, leftPicos: limitPicos - spent[`${period}Picos`] - heldPicos, heldPicos }
  })
}

const midnightMs = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/** When the UTC day is over, milliseconds since the epoch. */
export const dayEndsMs = (day: string): number => new Date(midnightMs(day)).setUTCHours(24)

/** When a limit of the period starts again after a day, milliseconds since the epoch; null for one that never does. */
export const limitRenewalMs = (period: SpendPeriod, day: string): number | null => {
  if (period === 'total') return null
  const firstOfMonth = new Date(midnightMs(`${monthOf(day)}-01`))
  return period === 'day' ? dayEndsMs(day) : firstOfMonth.setUTCMonth(firstOfMonth.getUTCMonth() + 1)
}
