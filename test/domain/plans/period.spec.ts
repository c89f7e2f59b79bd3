import fc from 'fast-check'
import t from 'tap'
import { dayOfMonth, endOfPeriod, type Period } from '../../../src/domain/plans/period.ts'

/** The beginnings of so many periods, one after the other. */
const starts = (first: string, period: Period, count: number): readonly string[] => {
  const anchorDay = dayOfMonth(Date.parse(first))
  const found: string[] = []
  for (let at = Date.parse(first); found.length < count; at = endOfPeriod(at, period, anchorDay))
    found.push(new Date(at).toISOString().replace(':00.000Z', ''))
  return found
}

t.test('a month from 31 January ends on the last day of February, and the day is kept for later months', async (t) => {
  t.same(starts('2027-01-31T12:30', 'month', 6), [
    ...['2027-01-31T12:30', '2027-02-28T12:30', '2027-03-31T12:30'],
    ...['2027-04-30T12:30', '2027-05-31T12:30', '2027-06-30T12:30'],
  ])
  t.same(starts('2028-01-30T00:00', 'month', 3), ['2028-01-30T00:00', '2028-02-29T00:00', '2028-03-30T00:00'])
  t.same(starts('2027-11-30T23:59', 'month', 4).slice(1), ['2027-12-30T23:59', '2028-01-30T23:59', '2028-02-29T23:59'])
})

t.test('a year from 29 February ends on 28 February, but in leap years', async (t) => {
  t.same(starts('2028-02-29T06:00', 'year', 5), [
    ...['2028-02-29T06:00', '2029-02-28T06:00', '2030-02-28T06:00', '2031-02-28T06:00', '2032-02-29T06:00'],
  ])
})

t.test('a day has 24 hours', async (t) => {
  t.same(starts('2027-02-27T12:30', 'day', 3), ['2027-02-27T12:30', '2027-02-28T12:30', '2027-03-01T12:30'])
})

t.test('no month is missed, at the same time of day, on the anchor day or the last day there is', async () => {
  const instants = fc.integer({ min: Date.parse('2000-01-01'), max: Date.parse('2150-01-01') })
  fc.assert(
    fc.property(instants, fc.integer({ min: 1, max: 31 }), (startsAtMs, anchorDay) => {
      const [start, end] = [new Date(startsAtMs), new Date(endOfPeriod(startsAtMs, 'month', anchorDay))]
      const months = (each: Date): number => each.getUTCFullYear() * 12 + each.getUTCMonth()
      const isLast = dayOfMonth(end.getTime() + 86_400_000) === 1
      const isAnchored = end.getUTCDate() === anchorDay || (isLast && end.getUTCDate() < anchorDay)
      const timeOf = (each: Date): string => each.toISOString().slice('YYYY-MM-DD'.length)
      return months(end) - months(start) === 1 && isAnchored && timeOf(end) === timeOf(start)
    }),
  )
})
