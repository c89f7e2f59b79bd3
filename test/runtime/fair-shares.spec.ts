import fc from 'fast-check'
import t from 'tap'
import { Counts, FairShares, mayTake } from '../../src/runtime/fair-shares.ts'
import { propertyRuns } from '../support/property-runs.ts'

const waitMs = 10_000

t.test('who may take a place of twelve', async (t) => {
  const none: readonly number[] = []
  const table = [
    { name: 'alone, up to the last', taken: 11, held: 11, waiting: none, sharers: 1, may: true },
    { name: 'none is free', taken: 12, held: 0, waiting: none, sharers: 2, may: false },
    { name: 'beyond its share while no other waits', taken: 11, held: 8, waiting: none, sharers: 2, may: true },
    { name: 'beyond its share while another waits', taken: 11, held: 4, waiting: [3], sharers: 2, may: false },
    { name: 'within its share while another waits', taken: 11, held: 3, waiting: [3], sharers: 2, may: true },
    { name: 'the other has its share already', taken: 11, held: 4, waiting: [4], sharers: 2, may: true },
    { name: 'one of three waits', taken: 6, held: 3, waiting: [3, 0], sharers: 3, may: false },
    { name: 'more than there are places: one each', taken: 11, held: 0, waiting: [0], sharers: 30, may: true },
    { name: 'and not two', taken: 11, held: 1, waiting: [0], sharers: 30, may: false },
  ]
  for (const { name, may, ...claim } of table) t.equal(mayTake({ capacity: 12, places: 1, ...claim }), may, name)
  const many = { capacity: 160, places: 1, waiting: none, sharers: 1 }
  t.ok(mayTake({ ...many, taken: 149, held: 149 }))
  t.notOk(mayTake({ ...many, taken: 150, held: 150 }), 'the last of many are for the next one')
  t.ok(mayTake({ ...many, taken: 150, held: 0, sharers: 2 }))
  t.ok(mayTake({ ...many, places: 10, taken: 150, held: 0, sharers: 2 }), 'several at once')
  t.notOk(mayTake({ ...many, places: 11, taken: 150, held: 0, sharers: 2 }), 'all or none')
  t.ok(mayTake({ ...many, places: 50, taken: 100, held: 100 }))
  t.notOk(mayTake({ ...many, places: 51, taken: 100, held: 100 }))
})

t.test('what is freed is kept for one that was refused, up to its share, while it may come back', async (t) => {
  let nowMs = 0
  const shares = new FairShares(6, waitMs, () => nowMs)
  const hog = (): boolean => shares.take('hog')
  for (let place = 0; place < 6; place += 1) t.ok(hog(), 'all, while no other asks')
  t.notOk(hog())
  t.notOk(shares.take('other'))
  t.ok(shares.isFull)
  shares.leave('hog')
  t.notOk(hog(), 'the free place is kept')
  t.ok(shares.take('other'))
  shares.leave('hog')
  t.notOk(hog())
  t.ok(shares.take('other'))
  shares.leave('hog')
  t.ok(hog(), 'the other has its share')
  t.same([shares.of('hog'), shares.of('other')], [4, 2])
  shares.leave('other')
  shares.leave('other')
  t.notOk(hog(), 'it may come back')
  nowMs += waitMs
  t.same([hog(), hog()], [true, true], 'and is not waited for longer')
})

t.test('places are neither lost nor doubled, and free ones are used where none waits', async (t) => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    leaves: fc.boolean(),
    ms: fc.integer({ min: 0, max: 4_000 }),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 200 }), (capacity, steps) => {
      let nowMs = 0
      let refusedMs = Number.NEGATIVE_INFINITY
      const held = new Counts()
      const shares = new FairShares(capacity, waitMs, () => nowMs)
      for (const { key, leaves, ms } of steps) {
        nowMs += ms
        if (leaves && held.of(key) > 0) {
          held.remove(key)
          shares.leave(key)
        } else if (!leaves) {
          const isIdle = nowMs - refusedMs >= waitMs
          const took = shares.take(key)
          if (took) held.add(key)
          else refusedMs = nowMs
          if (took && held.all > capacity) return false
          if (!took && isIdle && held.all < capacity - Math.floor(capacity / 16)) return false
        }
        if (shares.of(key) !== held.of(key)) return false
      }
      return true
    }),
    propertyRuns(300),
  )
  t.pass('holds')
})

t.test('one that asks for no more than its share has it as soon as places become free', async (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 8, max: 40 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 60, maxLength: 60 }),
      (capacity, hogs, picks) => {
        const names = Array.from({ length: hogs }, (_, index) => `hog-${index}`)
        const shares = new FairShares(capacity, waitMs, () => 0)
        const fill = (): void => {
          for (let index = 0; index < 2 * capacity; index += 1) shares.take(names[index % hogs]!)
        }
        fill()
        const share = Math.max(1, Math.floor(capacity / (hogs + 2)))
        shares.take('other')
        for (const pick of picks) {
          const holders = names.filter((name) => shares.of(name) > 0)
          const holder = holders[pick % Math.max(1, holders.length)]
          if (holder !== undefined) shares.leave(holder)
          fill()
          if (shares.of('other') < share) shares.take('other')
        }
        return shares.of('other') >= share
      },
    ),
    propertyRuns(200),
  )
  t.pass('holds')
})
