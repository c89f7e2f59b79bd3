/**
 * Runs seeds SIMULATE_FROM … of SIMULATE_SEEDS plans with SIMULATE_ACTIONS actions each, on all cores, but for those whose results are
 * in the file SIMULATE_RESULTS; or one, step by step: with SEED one of these, with PLAN one from a file. Ends with 1 where one violates
 * what must hold, or where many reach not every crash point.
 */
import { fork } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readPlan } from './kept-plans.ts'
import { makePlan } from './make-plan.ts'
import { formatPlan, type Plan } from './plan.ts'
import { runPlan } from './run-plan.ts'
import { failedSeed, findMissed, printPace, printResults, type SeedResult, SeedResults } from './seed-results.ts'
import { shrinkPlan } from './shrink.ts'
import { TraceHash } from './trace.ts'

/** Of one process: its first ones are slow, and its memory grows a little with each. */
const seedsOfProcess = 500

/**
 * Room for garbage: little of it is copied, and it is marked once in several seeds, in one go. One thread collects it, since
 * every core has a process of its own. A lot of code runs seldom: it is compiled the first time.
 */
const workerFlags = [
  '--min-semi-space-size=128',
  '--max-semi-space-size=128',
  '--initial-old-space-size=1000',
  '--no-incremental-marking',
  '--single-threaded-gc',
  '--always-sparkplug',
] as const

/** So many reach every crash point. */
const coveringSeeds = 1_000

const numberOf = (name: string, otherwise: number): number => Number(process.env[name] || otherwise)

const actions = numberOf('SIMULATE_ACTIONS', 1_000)

const runSeed = async (seed: number): Promise<SeedResult> => {
  const began = process.cpuUsage()
  const plan = makePlan(seed, actions)
  const { violations, simulatedMs, frames, moves, portCalls, crashes, events } = await runPlan(plan)
  const { user, system } = process.cpuUsage(began)
  return {
    ...{ seed, violations, simulatedMs, frames, moves, faults: plan.faults.length, cpuMs: (user + system) / 1_000 },
    ...{ portCalls: [...portCalls], crashes: [...crashes], events: [...events] },
  }
}

const keep = async (plan: Plan): Promise<string> => {
  const folder = new URL('../../node_modules/.cache/simulation/', import.meta.url)
  await mkdir(folder, { recursive: true })
  const file = new URL(`seed-${plan.seed}.json`, folder)
  await writeFile(file, JSON.stringify(plan))
  return fileURLToPath(file)
}

/** Prints each step; of a plan that violates something those of its smallest part that does. */
const replay = async (plan: Plan): Promise<boolean> => {
  const { violations } = await runPlan(plan)
  const shown = violations.length === 0 ? plan : await shrinkPlan(plan)
  const traced = new TraceHash()
  const trace = (line: string): void => {
    traced.take(line)
    console.log(line)
  }
  const { simulatedMs, violations: left } = await runPlan(shown, { trace })
  console.log(formatPlan(shown))
  for (const violation of left) console.log(`violation: ${violation}`)
  console.log(
    `seed ${plan.seed}: ${left.length} violations, ${Math.round(simulatedMs)} ms simulated, trace ${traced.hex}`,
  )
  if (violations.length === 0) return true
  const sizes = [plan, shown].map(({ actions, faults }) => `${actions.length} actions and ${faults.length} faults`)
  console.log(`${sizes[0]} were made ${sizes[1]}: PLAN=${await keep(shown)}`)
  return false
}

/** Runs the seeds that its parent sends, one at a time, and sends back what came of each. */
const work = (): void => {
  Error.stackTraceLimit = 0 // Every fault of the world would have its stack read.
  process.on('message', (seed: number) => {
    void runSeed(seed)
      .catch((fault: unknown) => failedSeed(seed, fault))
      .then((result) => process.send?.(result))
  })
}

const runAll = async (): Promise<boolean> => {
  const first = numberOf('SIMULATE_FROM', 1)
  const seeds = Array.from({ length: numberOf('SIMULATE_SEEDS', 1_000) }, (_, index) => first + index)
  const workers = numberOf('SIMULATE_WORKERS', availableParallelism())
  const results = await SeedResults.open(process.env['SIMULATE_RESULTS'] || null, actions)
  const missing = seeds.filter((seed) => !results.has(seed))
  const waiting = [...missing]
  const began = performance.now()
  const runProcess = (): Promise<void> => {
    const child = fork(import.meta.filename, ['worker'], { execArgv: [...workerFlags] })
    let left = seedsOfProcess
    const sendNext = (): void => {
      const seed = left > 0 ? waiting.shift() : undefined
      left -= 1
      if (seed === undefined) child.disconnect()
      else child.send(seed)
    }
    child.on('message', (message) => {
      const result = message as SeedResult
      results.add(result)
      if (result.violations.length > 0) console.log(`seed ${result.seed}: ${result.violations.join('; ')}`)
      sendNext()
    })
    sendNext()
    return new Promise((resolve) => child.on('exit', () => resolve()))
  }
  const runProcesses = async (): Promise<void> => {
    while (waiting.length > 0) await runProcess()
  }
  await Promise.all(Array.from({ length: workers }, runProcesses))
  const all = results.of(seeds)
  printResults(all, actions)
  printPace(results.of(missing), performance.now() - began)
  const isWhole = all.length === seeds.length && all.every(({ violations }) => violations.length === 0)
  return isWhole && (seeds.length < coveringSeeds || findMissed(all).length === 0)
}

if (process.argv[2] === 'worker') work()
else {
  const seed = numberOf('SEED', 0)
  const file = process.env['PLAN'] || null
  const plan = file !== null ? await readPlan(file) : makePlan(seed, actions)
  const isOne = file !== null || seed !== 0
  if (!(await (isOne ? replay(plan) : runAll()))) process.exitCode = 1
}
