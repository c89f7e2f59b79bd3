/**
 * Runs seeds SIMULATE_FROM … of SIMULATE_SEEDS plans with SIMULATE_ACTIONS actions each, on all cores; or with SEED one of them, step
 * by step. Ends with 1 where one violates what must hold.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { formatPlan, makePlan } from './plan.ts'
import { shrinkPlan } from './shrink.ts'
import { runPlan } from './world.ts'

interface SeedResult {
  readonly seed: number
  readonly violations: readonly string[]
  readonly simulatedMs: number
  readonly steps: number
  readonly frames: number
  readonly portCalls: readonly (readonly [string, number])[]
  readonly crashes: readonly (readonly [string, number])[]
  readonly events: readonly (readonly [string, number])[]
}

/** Of one process: Node keeps some memory of each world. */
const batchSeeds = 10

const numberOf = (name: string, otherwise: number): number => Number(process.env[name] || otherwise)

const actions = numberOf('SIMULATE_ACTIONS', 1_000)

const runSeed = async (seed: number): Promise<SeedResult> => {
  const report = await runPlan(makePlan(seed, actions))
  return { ...report, seed, portCalls: [...report.portCalls], crashes: [...report.crashes], events: [...report.events] }
}

const replay = async (seed: number): Promise<boolean> => {
  const plan = makePlan(seed, actions)
  const { violations } = await runPlan(plan)
  const shown = violations.length === 0 ? plan : await shrinkPlan(plan)
  const { traceHash, simulatedMs } = await runPlan(shown, { trace: (line) => console.log(line) })
  console.log(formatPlan(shown))
  for (const violation of violations) console.log(`violation: ${violation}`)
  console.log(
    `seed ${seed}: ${violations.length} violations, ${Math.round(simulatedMs)} ms simulated, trace ${traceHash}`,
  )
  return violations.length === 0
}

const sum = (counts: readonly (readonly (readonly [string, number])[])[]): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const [name, count] of counts.flat()) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

const report = (results: readonly SeedResult[], tookMs: number): void => {
  const simulatedHours = results.reduce((hours, { simulatedMs }) => hours + simulatedMs / 3_600_000, 0)
  const ports = sum(results.map(({ portCalls }) => portCalls))
  const crashes = sum(results.map(({ crashes }) => crashes))
  const failed = results.filter(({ violations }) => violations.length > 0)
  for (const { seed, violations } of failed) console.log(`seed ${seed}: ${violations[0]}`)
  console.log('calls and crashes by port:')
  for (const [port, calls] of [...ports].toSorted())
    console.log(
      `  ${port}: ${calls} calls, ${crashes.get(`${port} before`) ?? 0} crashes before, ${crashes.get(`${port} after`) ?? 0} after`,
    )
  const events = [...sum(results.map(({ events }) => events))].toSorted()
  console.log(`events: ${events.map(([name, count]) => `${name} ${count}`).join(', ')}`)
  const frames = results.reduce((count, each) => count + each.frames, 0)
  const died = [...crashes.values()].reduce((count, each) => count + each, 0)
  console.log(
    `${results.length} seeds of ${actions} actions: ${failed.length} with violations; ${frames} frames, ${died} crashes at ports`,
  )
  const seconds = tookMs / 1_000
  console.log(
    `${simulatedHours.toFixed(1)} hours simulated in ${seconds.toFixed(0)} s: ${(simulatedHours / seconds).toFixed(3)} hours per second`,
  )
}

/** The seeds of this process, each sent to its parent when it is done. */
const work = async (seeds: readonly number[]): Promise<void> => {
  for (const seed of seeds) {
    const result = await runSeed(seed).catch(
      (fault: unknown): SeedResult => ({
        ...{ seed, simulatedMs: 0, steps: 0, frames: 0, portCalls: [], crashes: [], events: [] },
        violations: [`the run ended with ${String(fault)}`],
      }),
    )
    process.send?.(result)
  }
  process.disconnect?.()
}

const runAll = async (): Promise<boolean> => {
  const first = numberOf('SIMULATE_FROM', 1)
  const seeds = Array.from({ length: numberOf('SIMULATE_SEEDS', 1_000) }, (_, index) => first + index)
  const batches = Array.from({ length: Math.ceil(seeds.length / batchSeeds) }, (_, batch) =>
    seeds.slice(batch * batchSeeds, (batch + 1) * batchSeeds),
  )
  const results: SeedResult[] = []
  const began = performance.now()
  const runBatch = (batch: readonly number[]): Promise<void> => {
    const child = fork(import.meta.filename, ['worker', batch.join(',')])
    child.on('message', (result) => results.push(result as SeedResult))
    return new Promise((resolve) => child.on('exit', () => resolve()))
  }
  const runBatches = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) await runBatch(batch)
  }
  await Promise.all(Array.from({ length: numberOf('SIMULATE_WORKERS', availableParallelism()) }, runBatches))
  report(
    results.toSorted((one, other) => one.seed - other.seed),
    performance.now() - began,
  )
  return results.length === seeds.length && results.every(({ violations }) => violations.length === 0)
}

const [mode, list = ''] = process.argv.slice(2)
if (mode === 'worker') await work(list.split(',').map(Number))
else {
  const seed = numberOf('SEED', 0)
  if (!(await (seed === 0 ? runAll() : replay(seed)))) process.exitCode = 1
}
