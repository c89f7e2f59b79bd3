import t from 'tap'
import { makePlan } from './plan.ts'
import { runPlan } from './world.ts'

const seeds = 20
const actions = 100
const hashes: string[] = []

t.test('nothing that must hold is violated in a world that misbehaves by seed', async (t) => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { violations, traceHash } = await runPlan(makePlan(seed, actions))
    t.same(violations, [], `seed ${seed}`)
    hashes.push(traceHash)
  }
})

t.test('a seed determines everything that happens, whatever ran before it', async (t) => {
  for (const seed of [1, 2]) t.equal((await runPlan(makePlan(seed, actions))).traceHash, hashes[seed - 1])
  t.equal(new Set(hashes).size, seeds)
})
