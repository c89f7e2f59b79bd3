import t from 'tap'
import { fitCost, fitGrouping, fitLine, framesOf, microsOf } from './scale/model.ts'

const cost = { perRequest: 300, perFrame: 90, perRequestOfEachOther: 40, perFrameOfEachOther: 25 }
const places = [1, 2, 3].flatMap((workers) => [0.1, 0.5, 1.5].map((frames) => ({ workers, frames })))

t.test('costs are found again from what they cause', async (t) => {
  const found = fitCost(places.map((place) => ({ ...place, micros: microsOf(cost, place) })))
  for (const [name, value] of Object.entries(cost))
    t.ok(Math.abs(found[name as keyof typeof cost] - value) < 1e-6, name)
})

t.test('no cost is below zero', async (t) => {
  const falling = { ...cost, perFrameOfEachOther: -5 }
  const found = fitCost(places.map((place) => ({ ...place, micros: microsOf(falling, place) })))
  t.ok(Object.values(found).every((value) => value >= 0))
  t.equal(found.perFrameOfEachOther, 0)
})

t.test('frames of an answer become fewer with the connections of a worker, and are never more than two', async (t) => {
  const grouping = fitGrouping([4, 16, 64].map((connections) => ({ connections, frames: 3 * connections ** -0.5 })))
  t.ok(Math.abs(framesOf(grouping, 36) - 0.5) < 1e-9)
  t.equal(framesOf(grouping, 1), 2)
})

t.test('a line is found again', async (t) => {
  const { fixed, slope } = fitLine([1, 2, 5].map((x) => [x, 7 + 3 * x] as const))
  t.ok(Math.abs(fixed - 7) < 1e-9 && Math.abs(slope - 3) < 1e-9)
})
