import t from 'tap'
import { dayMs, instantWriter, utcDayAt } from '../../src/domain/instant.ts'

const secondMs = 1_000
const instants = [
  0,
  1,
  999,
  secondMs,
  secondMs + 7.9,
  -1,
  Date.parse('2026-12-31T23:59:59.999Z'),
  Date.parse('2027-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.000Z'),
]

t.test('instants are written as dates are, also where the second is that of the one before', (t) => {
  const write = instantWriter()
  for (const ms of [...instants, ...instants.toReversed()]) t.equal(write(ms), new Date(ms).toISOString(), String(ms))
  t.throws(() => write(Number.NaN), RangeError)
  t.equal(write(0), '1970-01-01T00:00:00.000Z')
  t.end()
})

t.test('a day in UTC is that of the instant, also where it changes back', (t) => {
  for (const ms of [...instants, dayMs - 1, dayMs, 0, -1])
    t.equal(utcDayAt(ms), new Date(ms).toISOString().slice(0, 10), String(ms))
  t.throws(() => utcDayAt(Number.NaN), RangeError)
  t.end()
})
