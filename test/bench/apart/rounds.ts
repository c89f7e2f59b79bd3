import type { LoadResult } from '../asking.ts'
import type { BenchProcess } from '../child.ts'
import { type Cpu, cpuEachOf, cpuOf, spent, total } from '../cpu.ts'
import { median } from '../figures.ts'
import type { Gateway } from '../installation.ts'
import type { Books } from '../ledger.ts'
import type { Load } from '../load.ts'
import { benchModel } from '../price.ts'
import type { Addressed } from '../requests.ts'

/** The same program, each on servers of its own: every role in one process, and each role in a process. */
export const ways = ['one process', 'apart'] as const
export type Way = (typeof ways)[number]

export interface Side {
  readonly gateway: Gateway
  readonly books: Books
}
export type Sides = { readonly [W in Way]: Side }

/** One load on one side. */
export interface Measured {
  readonly result: LoadResult
  /** How long the tables took to catch up once the load had stopped. */
  readonly catchUpMs: number
  /** Until they had. */
  readonly cpu: Cpu
  /** What the other side used meanwhile, of one core. */
  readonly idleShare: number
}

type Question = Pick<Load, 'stream' | 'connections' | 'seconds'>

/** The tables catch up before the next load begins, so that they cost no other row its cores. */
const measureSide = async (load: BenchProcess, side: Side, other: Side, question: Question): Promise<Measured> => {
  const before = { side: cpuOf(side.gateway), other: cpuOf(other.gateway) }
  const fromMs = performance.now()
  const result = await load.ask<LoadResult>({ ...question, ...addressOf(side.gateway) })
  const catchUpMs = await side.books.settled()
  const idleMicros = total(spent(before.other, cpuOf(other.gateway)))
  const idleShare = idleMicros / 1_000 / (performance.now() - fromMs)
  return { result, catchUpMs, cpu: spent(before.side, cpuOf(side.gateway)), idleShare }
}

/** All clients here ask for chat. */
export const addressOf = ({ url, key }: Gateway): Addressed => ({ url, key, format: 'chat', model: benchModel })

/** One load on both sides, right after one another. */
export interface Cell {
  readonly stream: boolean
  readonly connections: number
  readonly measured: { readonly [W in Way]: Measured }
}

/** The side that comes first meets the machine as the cell before left it: they take turns. */
const measureCell = async (load: BenchProcess, sides: Sides, question: Question, round: number): Promise<Cell> => {
  const { 'one process': one, apart } = sides
  const measureOne = (): Promise<Measured> => measureSide(load, one, apart, question)
  const measureApart = (): Promise<Measured> => measureSide(load, apart, one, question)
  const { stream, connections } = question
  if (round % 2 === 0) {
    const first = await measureOne()
    return { stream, connections, measured: { 'one process': first, apart: await measureApart() } }
  }
  const first = await measureApart()
  return { stream, connections, measured: { 'one process': await measureOne(), apart: first } }
}

/** So many rounds of every load; the first, of the most connections alone, warms up and is not among the figures. */
export async function* measureRounds(
  load: BenchProcess,
  sides: Sides,
  { rounds, connections, seconds }: Readonly<{ rounds: number; connections: readonly number[]; seconds: number }>,
): AsyncGenerator<{ readonly cell: Cell; readonly warmUp: boolean }> {
  const most = Math.max(...connections)
  for (const stream of [false, true])
    yield { cell: await measureCell(load, sides, { stream, connections: most, seconds }, 0), warmUp: true }
  for (let round = 0; round < rounds; round += 1)
    for (const stream of [false, true])
      for (const each of connections)
        yield { cell: await measureCell(load, sides, { stream, connections: each, seconds }, round), warmUp: false }
}

/** The medians of all rounds of one load on one side. */
export interface Row {
  readonly stream: boolean
  readonly connections: number
  readonly way: Way
  readonly perSecond: number
  /** Of the single process's throughput in the same round. */
  readonly ofOne: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Microseconds a request: of all rounds together, since the system counts in hundredths of a second. */
  readonly cpuEach: Cpu
}

const rowOf = (cells: readonly Cell[], way: Way): Row => {
  const over = (figure: (cell: Cell) => number): number => median(cells.map(figure))
  const { stream, connections } = cells[0]!
  return {
    stream,
    connections,
    way,
    perSecond: over(({ measured }) => measured[way].result.perSecond),
    ofOne: over(({ measured }) => measured[way].result.perSecond / measured['one process'].result.perSecond),
    p50Ms: over(({ measured }) => measured[way].result.p50Ms),
    p99Ms: over(({ measured }) => measured[way].result.p99Ms),
    cpuEach: cpuEachOf(cells.map(({ measured }) => measured[way])),
  }
}

export const rowsOf = (cells: readonly Cell[], connections: readonly number[]): readonly Row[] =>
  [false, true].flatMap((stream) =>
    connections.flatMap((each) => {
      const ofLoad = cells.filter((cell) => cell.stream === stream && cell.connections === each)
      return ways.map((way) => rowOf(ofLoad, way))
    }),
  )
