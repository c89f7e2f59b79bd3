import type { OpenLog } from '../../src/infrastructure/nats/log.ts'
import type { LoadResult } from './asking.ts'
import { busiestOf, type Case, inTurn } from './cases.ts'
import type { BenchProcess } from './child.ts'
import { median } from './figures.ts'
import type { Books } from './ledger.ts'
import type { Load } from './load.ts'
import { routes } from './routes.ts'
import { measureSyncedAppend } from './synced-append.ts'

/** What is measured, in turn: the upstream itself, the bare relay, the gateway. */
export const ways = ['upstream', 'relay', 'gateway'] as const
export type Way = (typeof ways)[number]

export interface Bench {
  readonly load: BenchProcess
  /** What stands before `/v1` at each. */
  readonly urls: { readonly [W in Way]: string }
  readonly key: string
  readonly books: Books
  /** A log of the bench's own on the gateway's server. */
  readonly log: OpenLog
}

/** One load on all three ways, right after one another. */
export interface Cell extends Case {
  readonly results: { readonly [W in Way]: LoadResult }
  /** How long the tables took to catch up once the load on the gateway had stopped. */
  readonly catchUpMs: number
  /** One synced append before the load. */
  readonly appendMs: number
}

const appendsPerCell = 60

/** Only the gateway translates: the others are asked as the upstream speaks. */
const loadOn = (way: Way, { urls, key }: Bench, { route, stream, connections }: Case, seconds: number): Load => {
  const { surface, upstream, model } = routes[route]
  const format = way === 'gateway' ? surface : upstream
  return { url: urls[way], key, format, model, stream, connections, seconds }
}

/** The projection catches up before the next load begins, so that it costs no other row its cores. */
const measureCell = async (bench: Bench, measured: Case, seconds: number): Promise<Cell> => {
  const { load, books, log } = bench
  const run = (way: Way): Promise<LoadResult> => load.ask(loadOn(way, bench, measured, seconds))
  const appendMs = await measureSyncedAppend(log, appendsPerCell)
  const upstream = await run('upstream')
  const relay = await run('relay')
  const gateway = await run('gateway')
  return { ...measured, results: { upstream, relay, gateway }, catchUpMs: await books.settled(), appendMs }
}

/** So many rounds of every load; the first, of the most connections alone, warms up and is not among the figures. */
export async function* measureRounds(
  bench: Bench,
  rounds: number,
  cases: readonly Case[],
  seconds: number,
): AsyncGenerator<{ readonly cell: Cell; readonly warmUp: boolean }> {
  for (const each of busiestOf(cases)) yield { cell: await measureCell(bench, each, seconds), warmUp: true }
  for (let round = 0; round < rounds; round += 1)
    for (const each of inTurn(cases)) yield { cell: await measureCell(bench, each, seconds), warmUp: false }
}

/** The medians of all rounds of one load on one way. */
export interface Row extends Case {
  readonly way: Way
  readonly perSecond: number
  /** Of the relay's throughput in the same round. */
  readonly ofRelay: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const rowOf = (cells: readonly Cell[], { route, stream, connections }: Case, way: Way): Row => {
  const over = (figure: (result: LoadResult, cell: Cell) => number): number =>
    median(cells.map((cell) => figure(cell.results[way], cell)))
  return {
    route,
    stream,
    connections,
    way,
    perSecond: over(({ perSecond }) => perSecond),
    ofRelay: over(({ perSecond }, { results }) => perSecond / results.relay.perSecond),
    p50Ms: over(({ p50Ms }) => p50Ms),
    p99Ms: over(({ p99Ms }) => p99Ms),
  }
}

const isSame = (one: Case, other: Case): boolean =>
  one.route === other.route && one.stream === other.stream && one.connections === other.connections

/** The cells of one load, one a round. */
export const cellsOf = (cells: readonly Cell[], measured: Case): readonly Cell[] =>
  cells.filter((cell) => isSame(cell, measured))

export const rowsOf = (cells: readonly Cell[], cases: readonly Case[]): readonly Row[] =>
  cases.flatMap((each) => ways.map((way) => rowOf(cellsOf(cells, each), each, way)))
