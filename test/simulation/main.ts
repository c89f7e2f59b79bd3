/**
 * Runs seeds SIMULATE_FROM … of SIMULATE_SEEDS plans with SIMULATE_ACTIONS actions each, on all cores; or one, step by step: with SEED
 * one of these, with PLAN one from a file. Ends with 1 where one violates what must hold, or where many reach not every crash point.
 */
import { fork } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readPlan } from './kept-plans.ts'
import { makePlan } from './make-plan.ts'
import { formatPlan, type Plan } from './plan.ts'
import { simulatedPorts } from './ports.ts'
import { runPlan } from './run-plan.ts'
import { shrinkPlan } from './shrink.ts'
import { TraceHash } from './trace.ts'

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
  const report = await runPlan(makePlan(seed, actions))
  return { ...report, seed, portCalls: [...report.portCalls], crashes: [...report.crashes], events: [...report.events] }
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

const sum = (counts: readonly (readonly (readonly [string, number])[])[]): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const [name, count] of counts.flat()) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

/** Before and after the calls of each port: where no process died. */
const findMissed = (results: readonly SeedResult[]): readonly string[] => {
  const reached = sum(results.map(({ crashes }) => crashes))
  const called = sum(results.map(({ portCalls }) => portCalls)).keys()
  const points = [...new Set([...simulatedPorts, ...called])].flatMap((port) => [`${port} before`, `${port} after`])
  return points.filter((point) => !reached.has(point)).toSorted()
}

const report = (results: readonly SeedResult[], tookMs: number): void => {
  const simulatedHours = results.reduce((hours, { simulatedMs }) => hours + simulatedMs / 3_600_000, 0)
  const ports = sum(results.map(({ portCalls }) => portCalls))
  const crashes = sum(results.map(({ crashes }) => crashes))
  const failed = results.filter(({ violations }) => violations.length > 0)
  console.log('calls and crashes by port:')
  for (const [port, calls] of [...ports].toSorted())
    console.log(
      `  ${port}: ${calls} calls, ${crashes.get(`${port} before`) ?? 0} crashes before, ${crashes.get(`${port} after`) ?? 0} after`,
    )
  const missed = findMissed(results)
  console.log(`${crashes.size} crash points reached, ${missed.length} not`)
  if (missed.length > 0) console.log(`never reached: ${missed.join(', ')}`)
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

const failedRun = (seed: number, fault: unknown): SeedResult => ({
  ...{ seed, simulatedMs: 0, steps: 0, frames: 0, portCalls: [], crashes: [], events: [] },
  violations: [`the run ended with ${String(fault)}`],
})

/** Runs the seeds that its parent sends, one at a time, and sends back what came of each. */
const work = (): void => {
  Error.stackTraceLimit = 0 // Every fault of the world would have its stack read.
  process.on('message', (seed: number) => {
    void runSeed(seed)
      .catch((fault: unknown) => failedRun(seed, fault))
      .then((result) => process.send?.(result))
  })
}

const runAll = async (): Promise<boolean> => {
  const first = numberOf('SIMULATE_FROM', 1)
  const seeds = Array.from({ length: numberOf('SIMULATE_SEEDS', 1_000) }, (_, index) => first + index)
  const workers = numberOf('SIMULATE_WORKERS', availableParallelism())
  const waiting = [...seeds]
  const results: SeedResult[] = []
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
      results.push(result)
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
  report(
    results.toSorted((one, other) => one.seed - other.seed),
    performance.now() - began,
  )
  const isWhole = results.length === seeds.length && results.every(({ violations }) => violations.length === 0)
  return isWhole && (seeds.length < coveringSeeds || findMissed(results).length === 0)
}

if (process.argv[2] === 'worker') work()
else {
  const seed = numberOf('SEED', 0)
  const file = process.env['PLAN'] || null
  const plan = file !== null ? await readPlan(file) : makePlan(seed, actions)
  const isOne = file !== null || seed !== 0
  if (!(await (isOne ? replay(plan) : runAll()))) process.exitCode = 1
}
