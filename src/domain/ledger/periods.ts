import type { FactOf } from '../../events/envelope.ts'
import type { PeriodClosed } from '../../events/types.ts'
import { parseMonth } from '../instant.ts'

export type PeriodFact = FactOf<'PeriodCutOff' | 'PeriodClosed' | 'PeriodReopened'>

/** A month in which nothing is posted any more. */
export interface ClosedPeriod {
  readonly month: string
  /** Of the frame that cut it off. */
  readonly sequence: number
  /** Null while it is being closed. */
  readonly closed: PeriodClosed | null
}

/** By their months, whose order is that of their texts. */
export type Periods = Map<string, ClosedPeriod>

export const findLastPeriod = (periods: ReadonlyMap<string, ClosedPeriod>): ClosedPeriod | null =>
  [...periods.values()].reduce<ClosedPeriod | null>(
    (last, each) => (last !== null && last.month > each.month ? last : each),
    null,
  )

/** The first instant after a month; empty for none. */
export const periodEnd = (period: Pick<ClosedPeriod, 'month'> | null): string =>
  period === null ? '' : (parseMonth(period.month)?.to.toISOString() ?? '')

/** A fact that does not follow from those before it changes nothing. */
export const applyPeriod = (periods: Periods, { type, data }: PeriodFact, sequence: number): void => {
  const { month } = data
  const known = periods.get(month)
  if (type === 'PeriodCutOff') {
    if (month > (findLastPeriod(periods)?.month ?? '')) periods.set(month, { month, sequence, closed: null })
  } else if (type === 'PeriodClosed') {
    if (known?.closed === null && known.sequence === data.sequence) periods.set(month, { ...known, closed: data })
  } else if (findLastPeriod(periods)?.month === month) periods.delete(month)
}

/** The first closed month that has the end of a range in it or after it; null where the range is not closed. */
export const findClosing = (periods: ReadonlyMap<string, ClosedPeriod>, to: Date | null): ClosedPeriod | null => {
  if (to === null) return null
  const after = [...periods.values()].filter((period) => periodEnd(period) >= to.toISOString())
  return after.reduce<ClosedPeriod | null>(
    (first, each) => (first !== null && first.month < each.month ? first : each),
    null,
  )
}
