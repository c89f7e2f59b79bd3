import type { LoadResult } from '../asking.ts'
import type { BenchProcess } from '../child.ts'
import { type Cpu, cpuEachOf, cpuOf, spent } from '../cpu.ts'
import { median } from '../figures.ts'
import type { Gateway } from '../installation.ts'
import type { Books } from '../ledger.ts'
import type { SubmitLoad } from './load.ts'

/** What is measured, in turn: the bare POST, submits of one workspace, submits of many. */
export const ways = ['synced post', 'one workspace', 'many workspaces'] as const
export type Way = (typeof ways)[number]

export interface SubmitBench {
  readonly load: BenchProcess
  readonly gateway: Gateway
  readonly postUrl: string
  readonly books: Books
  /** Of many workspaces. */
  readonly keys: readonly string[]
}

export interface Measured {
  readonly result: LoadResult
  /** Of the gateway and its servers until the tables had caught up. */
  readonly cpu: Cpu
  readonly catchUpMs: number
}

/** One load in all ways, right after one another. */
export interface Cell {
  readonly connections: number
  readonly measured: { readonly [W in Way]: Measured }
}

const targetOf = (way: Way, { gateway, postUrl, keys }: SubmitBench): Pick<SubmitLoad, 'url' | 'keys'> => {
  if (way === 'synced post') return { url: postUrl, keys: keys.slice(0, 1) }
  return { url: gateway.url, keys: way === 'one workspace' ? keys.slice(0, 1) : keys }
}

/** The tables catch up before the next load begins, so that they cost no other row its cores. */
const measure = async (bench: SubmitBench, way: Way, connections: number, seconds: number): Promise<Measured> => {
  const before = cpuOf(bench.gateway)
  const load: SubmitLoad = { ...targetOf(way, bench), connections, seconds, submitsMax: null }
  const result = await bench.load.ask<LoadResult>(load)
  const catchUpMs = await bench.books.settled()
  return { result, cpu: spent(before, cpuOf(bench.gateway)), catchUpMs }
}

/** Whoever comes first meets the machine as the cell before left it: they take turns. */
const measureCell = async (bench: SubmitBench, connections: number, seconds: number, round: number): Promise<Cell> => {
  const found = new Map<Way, Measured>()
  for (const way of round % 2 === 0 ? ways : ways.toReversed())
    found.set(way, await measure(bench, way, connections, seconds))
  const [post, one, many] = ways.map((way) => found.get(way)!)
  return { connections, measured: { 'synced post': post!, 'one workspace': one!, 'many workspaces': many! } }
}

export interface Rounds {
  readonly rounds: number
  readonly connections: readonly number[]
  readonly seconds: number
}

/** So many rounds of every load; the first, of the most connections alone, warms up and is not among the figures. */
export async function* measureSubmits(
  bench: SubmitBench,
  { rounds, connections, seconds }: Rounds,
): AsyncGenerator<{ readonly cell: Cell; readonly warmUp: boolean }> {
  yield { cell: await measureCell(bench, Math.max(...connections), seconds, 0), warmUp: true }
  for (let round = 0; round < rounds; round += 1)
    for (const each of connections) yield { cell: await measureCell(bench, each, seconds, round), warmUp: false }
}

/** The medians of all rounds of one load in one way. */
export interface Row {
  readonly connections: number
  readonly way: Way
  readonly perSecond: number
  /** Of the bare POST's in the same round. */
  readonly ofPost: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Microseconds a submit: of all rounds together, since the system counts in hundredths of a second. */
  readonly cpuEach: Cpu
}

const rowOf = (cells: readonly Cell[], connections: number, way: Way): Row => {
  const over = (figure: (result: LoadResult, cell: Cell) => number): number =>
    median(cells.map((cell) => figure(cell.measured[way].result, cell)))
  return {
    connections,
    way,
    perSecond: over(({ perSecond }) => perSecond),
    ofPost: over(({ perSecond }, { measured }) => perSecond / measured['synced post'].result.perSecond),
    p50Ms: over(({ p50Ms }) => p50Ms),
    p99Ms: over(({ p99Ms }) => p99Ms),
    cpuEach: cpuEachOf(cells.map(({ measured }) => measured[way])),
  }
}

export const rowsOf = (cells: readonly Cell[], connections: readonly number[]): readonly Row[] =>
  connections.flatMap((each) => {
    const ofLoad = cells.filter((cell) => cell.connections === each)
    return ways.map((way) => rowOf(ofLoad, each, way))
  })
