import fc from 'fast-check'
import t from 'tap'
import {
  decideLease,
  emptyMeter,
  type Meter,
  msUntilReset,
  remainingUnits,
  returnableUnits,
  settleMeter,
} from '../../../src/domain/rates/meter.ts'

const one = { held: 0, least: 1, wanted: 1 }

const passesAt = (perMinute: number, instants: readonly number[], wanted = 1): number => {
  let meter = emptyMeter(0)
  let passed = 0
  for (const nowMs of instants) {
    const decision = decideLease(meter, nowMs, { ...one, wanted }, perMinute)
    if (decision.granted === null) continue
    meter = decision.meter
    passed += decision.granted
  }
  return passed
}

t.test('one passes at once, the next when its time has come', async (t) => {
  const first = decideLease(emptyMeter(0), 0, one, 10)
  t.equal(first.granted, 1)
  const { meter } = first as { readonly meter: Meter }
  t.same(decideLease(meter, 0, one, 10), { granted: null, waitMs: 6_000 })
  t.same(decideLease(meter, 5_999, one, 10), { granted: null, waitMs: 1 })
  t.equal(decideLease(meter, 6_000, one, 10).granted, 1)
  t.equal(remainingUnits(meter, 0, 10), 0)
  t.equal(remainingUnits(meter, 6_000, 10), 1)
  t.equal(msUntilReset(meter, 2_000, 10), 4_000)
})

t.test('a lease is no larger than what there is, and whole', async (t) => {
  t.equal(decideLease(emptyMeter(0), 0, { held: 0, least: 1, wanted: 100 }, 600).granted, 20)
  t.equal(decideLease(emptyMeter(0), 0, { held: 0, least: 1, wanted: 100 }, 50).granted, 1)
  t.equal(
    decideLease(emptyMeter(0), 0, { held: 15, least: 1, wanted: 100 }, 600).granted,
    5,
    'what is held is leased anew',
  )
  t.equal(decideLease(emptyMeter(0), 0, { held: 20, least: 1, wanted: 100 }, 600).granted, null)
})

t.test('a request larger than any burst passes alone, and is owed for', async (t) => {
  const large = { held: 0, least: 5_000, wanted: 5_000 }
  const first = decideLease(emptyMeter(0), 0, large, 6_000)
  t.equal(first.granted, 5_000)
  const { meter } = first as { readonly meter: Meter }
  t.same(decideLease(meter, 0, large, 6_000), { granted: null, waitMs: 50_000 })
  t.same(decideLease(meter, 0, one, 6_000), { granted: null, waitMs: 48_010 }, 'a small one as soon as there is room')
  t.equal(decideLease(meter, 50_000, large, 6_000).granted, 5_000)
})

t.test('what turns out otherwise is counted, up to ten minutes of a limit', async (t) => {
  const { meter } = decideLease(emptyMeter(0), 0, { held: 0, least: 10, wanted: 10 }, 600) as { readonly meter: Meter }
  t.equal(remainingUnits(settleMeter(meter, 0, -5, 600), 0, 600), 15)
  t.equal(remainingUnits(settleMeter(meter, 0, -500, 600), 0, 600), 20, 'never more than nobody had asked for')
  t.equal(msUntilReset(settleMeter(meter, 0, 50, 600), 0, 600), 6_000)
  t.equal(msUntilReset(settleMeter(meter, 0, 1_000_000, 600), 0, 600), 602_000)
})

t.test('of a lease, what has drained is not returned', async (t) => {
  t.equal(returnableUnits(30, 0, 600), 30)
  t.equal(returnableUnits(30, 1_000, 600), 20)
  t.equal(returnableUnits(30, 3_500, 600), 0)
  t.equal(returnableUnits(30, -1_000, 600), 30, 'a clock that was set back')
})

t.test('a raised limit counts at once', async (t) => {
  const { meter } = decideLease(emptyMeter(0), 0, one, 1) as { readonly meter: Meter }
  t.same(decideLease(meter, 0, one, 1), { granted: null, waitMs: 60_000 })
  t.same(decideLease(meter, 0, one, 600).granted, 1)
})

t.test('a clock that is behind drains nothing and takes no time back', async (t) => {
  const { meter } = decideLease(emptyMeter(10_000), 10_000, one, 60) as { readonly meter: Meter }
  const behind = decideLease(meter, 5_000, one, 60) as { readonly meter: Meter }
  t.same(behind.meter, { level: 2, atMs: 10_000 })
  t.same(decideLease(behind.meter, 5_000, one, 60), { granted: null, waitMs: 1_000 })
})

t.test('in no minute more than the limit and its burst, and under pressure not less than 95 %', async () => {
  const limit = fc.integer({ min: 1, max: 100_000 })
  const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(limit, gaps, fc.integer({ min: 1, max: 500 }), (perMinute, waits, wanted) => {
      let nowMs = 0
      const instants = waits.map((wait) => {
        nowMs += wait
        return nowMs
      })
      const most = (perMinute * nowMs) / 60_000 + Math.max(1, perMinute / 30)
      return passesAt(perMinute, instants, wanted) <= most + 1e-3
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), (perMinute) => {
      const everyTenMs = Array.from({ length: 6_001 }, (_, index) => index * 10)
      const passed = passesAt(perMinute, everyTenMs)
      return passed >= perMinute * 0.95 && passed <= perMinute + Math.max(1, perMinute / 20)
    }),
    { numRuns: 50 },
  )
})

t.test('a clock that was an hour ahead and was set back shuts nobody out', async (t) => {
  const hourMs = 3_600_000
  const { meter } = decideLease(emptyMeter(hourMs), hourMs, one, 10) as { readonly meter: Meter }
  t.same(decideLease(meter, 0, one, 10), { granted: null, waitMs: 6_000 }, 'what is owed drains from now on')
  t.equal(decideLease(meter, hourMs - 60_000, one, 10).granted, null, 'clocks of hosts differ by seconds')
})
