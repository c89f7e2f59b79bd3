import { appendFileSync } from 'node:fs'
import { mkdir, readFile, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { simulatedPorts } from './ports.ts'

type Counts = readonly (readonly [string, number])[]

/** What came of a seed, as its process sends it. */
export interface SeedResult {
  readonly seed: number
  readonly violations: readonly string[]
  readonly simulatedMs: number
  readonly cpuMs: number
  readonly frames: number
  /** Actions that moved money or a limit of it. */
  readonly moves: number
  readonly faults: number
  readonly portCalls: Counts
  readonly crashes: Counts
  readonly events: Counts
}

export const failedSeed = (seed: number, fault: unknown): SeedResult => ({
  ...{ seed, simulatedMs: 0, cpuMs: 0, frames: 0, moves: 0, faults: 0, portCalls: [], crashes: [], events: [] },
  violations: [`the run ended with ${String(fault)}`],
})

/** Results that several runs of the command collect in a file, a line each; in memory alone where it is null. */
export class SeedResults {
  readonly #file: string | null
  readonly #bySeed: Map<number, SeedResult>

  private constructor(file: string | null, results: readonly SeedResult[]) {
    this.#file = file
    this.#bySeed = new Map(results.map((result) => [result.seed, result]))
  }

  /** Throws where the file has results of another number of actions. */
  static async open(file: string | null, actions: number): Promise<SeedResults> {
    if (file === null) return new SeedResults(null, [])
    await mkdir(dirname(file), { recursive: true })
    const text = await readFile(file, { encoding: 'utf8', flag: 'a+' })
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    // A run that was killed leaves a line without its end, which the next one would be appended to.
    if (whole !== text) await truncate(file, Buffer.byteLength(whole))
    if (whole === '') appendFileSync(file, `${JSON.stringify({ actions })}\n`)
    const [head = { actions }, ...results] = whole
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
    if (head.actions !== actions)
      throw new Error(
        `${file} has results of SIMULATE_ACTIONS=${head.actions ?? 'an unknown number'}, not ${actions}: name another file`,
      )
    return new SeedResults(file, results as readonly SeedResult[])
  }

  has(seed: number): boolean {
    return this.#bySeed.has(seed)
  }

  add(result: SeedResult): void {
    this.#bySeed.set(result.seed, result)
    if (this.#file !== null) appendFileSync(this.#file, `${JSON.stringify(result)}\n`)
  }

  /** Those that it has. */
  of(seeds: readonly number[]): readonly SeedResult[] {
    return seeds.flatMap((seed) => this.#bySeed.get(seed) ?? [])
  }
}

const sum = (counts: readonly Counts[]): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const [name, count] of counts.flat()) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

/** Before and after the calls of each port: where no process died. */
export const findMissed = (results: readonly SeedResult[]): readonly string[] => {
  const reached = sum(results.map(({ crashes }) => crashes))
  const called = sum(results.map(({ portCalls }) => portCalls)).keys()
  const points = [...new Set([...simulatedPorts, ...called])].flatMap((port) => [`${port} before`, `${port} after`])
  return points.filter((point) => !reached.has(point)).toSorted()
}

const hoursOf = (results: readonly SeedResult[]): number =>
  results.reduce((hours, { simulatedMs }) => hours + simulatedMs / 3_600_000, 0)

const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length)

const printMoves = (results: readonly SeedResult[], name: string): void => {
  const moves = results.map(({ moves }) => moves).toSorted((one, other) => one - other)
  if (moves.length === 0) return
  const bills = results.map(({ events }) => events.find(([type]) => type === 'UsageRecorded')?.[1] ?? 0)
  const means = [moves, bills, results.map(({ faults }) => faults)].map((values) => mean(values).toFixed(0))
  const [tenth, half] = [0.1, 0.5].map((share) => moves[Math.floor(share * moves.length)])
  console.log(
    `${moves.length} seeds ${name}: on average ${means[0]} actions moved money or a limit of it, with ${means[1]} bills and ${means[2]} faults; half of them moved it by ${half} or more, nine of ten by ${tenth}`,
  )
}

export const printResults = (results: readonly SeedResult[], actions: number): void => {
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
  for (const hasFaults of [false, true]) {
    const these = results.filter(({ faults }) => faults > 0 === hasFaults)
    printMoves(these, hasFaults ? 'with faults' : 'without faults')
  }
  const frames = results.reduce((count, each) => count + each.frames, 0)
  const died = [...crashes.values()].reduce((count, each) => count + each, 0)
  const cpuMs = results.reduce((ms, each) => ms + each.cpuMs, 0)
  console.log(
    `${results.length} seeds of ${actions} actions: ${failed.length} with violations; ${frames} frames, ${died} crashes at ports`,
  )
  console.log(
    `${hoursOf(results).toFixed(1)} hours simulated, in ${(cpuMs / 1_000 / Math.max(1, results.length)).toFixed(2)} s of CPU time a seed`,
  )
}

/** Of those that ran now. */
export const printPace = (results: readonly SeedResult[], tookMs: number): void => {
  const hours = hoursOf(results)
  const seconds = tookMs / 1_000
  console.log(`${results.length} seeds in ${seconds.toFixed(0)} s: ${(hours / seconds).toFixed(3)} hours per second`)
}
