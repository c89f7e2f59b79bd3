import { readdir } from 'node:fs/promises'
import t from 'tap'
import { keptFolder, readPlan } from './kept-plans.ts'
import { makePlan } from './make-plan.ts'
import { simulatedPorts } from './ports.ts'
import type { Report } from './report.ts'
import { runPlan } from './run-plan.ts'
import { TraceHash } from './trace.ts'

const seeds = 20
const actions = 100
/** Of the requests, in spite of all faults: a world in which little is served shows little. */
const servedMin = 0.4
const hashes: string[] = []

const runHashed = async (seed: number): Promise<Report & { readonly hash: string }> => {
  const traced = new TraceHash()
  const report = await runPlan(makePlan(seed, actions), { trace: traced.take })
  return { ...report, hash: traced.hex }
}

t.test('nothing that must hold is violated in a world that misbehaves by seed', async (t) => {
  let requests = 0
  let served = 0
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { violations, hash, statuses, portCalls } = await runHashed(seed)
    t.same(violations, [], `seed ${seed}`)
    for (const port of portCalls.keys()) t.ok(simulatedPorts.has(port), `${port} is among the crash points`)
    hashes.push(hash)
    served += statuses.get(200) ?? 0
    for (const count of statuses.values()) requests += count
  }
  t.ok(served > servedMin * requests, `${served} of ${requests} requests are served`)
})

t.test('a seed determines everything that happens, whatever ran before it', async (t) => {
  for (const seed of [1, 2]) t.equal((await runHashed(seed)).hash, hashes[seed - 1])
  t.equal(new Set(hashes).size, seeds)
})

t.test('nothing is violated in the plans that are kept', async (t) => {
  for (const name of await readdir(keptFolder)) {
    const { violations } = await runPlan(await readPlan(new URL(name, keptFolder)))
    t.same(violations, [], name)
  }
})
