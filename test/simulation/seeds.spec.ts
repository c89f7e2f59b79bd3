import t from 'tap'
import { makePlan } from './plan.ts'
import { runPlan } from './world.ts'

const seeds = 20
const actions = 100

t.test('nothing that must hold is violated in a world that misbehaves by seed', async (t) => {
  for (let seed = 1; seed <= seeds; seed += 1)
    t.same((await runPlan(makePlan(seed, actions))).violations, [], `seed ${seed}`)
})

t.test('a seed determines everything that happens', async (t) => {
  for (const seed of [1, 2]) {
    const plan = makePlan(seed, actions)
    const [first, second] = [await runPlan(plan), await runPlan(plan)]
    t.equal(first.traceHash, second.traceHash)
    t.not((await runPlan({ ...plan, seed: seed + 1_000 })).traceHash, first.traceHash)
  }
})
