import fc from 'fast-check'
import t from 'tap'
import { FairRate } from '../../src/runtime/fair-rate.ts'
import { propertyRuns } from '../support/property-runs.ts'

const windowMs = 60_000
const waitMs = 10_000

const take = (rate: FairRate, key: string): boolean => {
  const isFree = rate.isFree(key)
  if (isFree) rate.add(key, 1)
  else rate.noteRefused(key)
  return isFree
}

t.test('one that asks alone has nearly all of a minute, and the next one its part at once', async (t) => {
  let nowMs = 0
  const rate = new FairRate({ unitsMax: 160, windowMs, waitMs, steadyMs: () => nowMs })
  const takeAll = (key: string): number => {
    let taken = 0
    while (take(rate, key)) taken += 1
    return taken
  }
  t.equal(rate.freeAfterMs, 0)
  t.equal(takeAll('hog'), 150)
  t.equal(takeAll('other'), 10, 'the last sixteenth is for the next one')
  nowMs = 55_000
  t.same([takeAll('hog'), takeAll('other')], [0, 0])
  t.equal(rate.freeAfterMs, 6_000)
  nowMs = 61_000
  t.equal(takeAll('hog'), 53, 'its share, while the other is waited for')
  t.ok(takeAll('other') >= 53)
  nowMs = 200_000
  t.equal(takeAll('hog'), 150, 'all is free again')
})

t.test('what was used beyond the limit is owed', async (t) => {
  let nowMs = 0
  const rate = new FairRate({ unitsMax: 1_000, windowMs, waitMs, steadyMs: () => nowMs })
  rate.add('a', 400)
  rate.add('a', 700)
  t.notOk(rate.isFree('b'), 'more was used than the limit')
  nowMs = 30_000
  rate.add('b', 100)
  nowMs = 61_000
  t.ok(rate.isFree('a'), 'what expired is free')
  rate.add('a', 900)
  t.notOk(rate.isFree('b'))
  nowMs = 91_000
  t.ok(rate.isFree('b'))
})

t.test('in no window is more admitted than the limit, and none is lost', async (t) => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), ms: fc.integer({ min: 0, max: 5_000 }) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step, { maxLength: 200 }), (unitsMax, steps) => {
      let nowMs = 0
      const rate = new FairRate({ unitsMax, windowMs, waitMs, steadyMs: () => nowMs })
      const admittedMs: number[] = []
      for (const { key, ms } of steps) {
        nowMs += ms
        if (take(rate, key)) admittedMs.push(nowMs)
        if (admittedMs.filter((at) => at > nowMs - windowMs).length > unitsMax) return false
      }
      nowMs += windowMs + waitMs + 1_000
      return rate.freeAfterMs === 0 && rate.isFree('a')
    }),
    propertyRuns(200),
  )
  t.pass('holds')
})
