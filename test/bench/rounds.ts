import type { OpenLog } from '../../src/infrastructure/nats/log.ts'
import type { BenchProcess } from './child.ts'
import { median } from './figures.ts'
import type { Books } from './ledger.ts'
import type { LoadResult } from './load.ts'
import { measureSyncedAppend } from './synced-append.ts'

/** What is measured, in turn: the upstream itself, the bare relay, the gateway. */
export const ways = ['upstream', 'relay', 'gateway'] as const
export type Way = (typeof ways)[number]

export interface Bench {
  readonly load: BenchProcess
  /** Each way's chat completions. */
  readonly urls: { readonly [W in Way]: string }
  readonly key: string
  readonly books: Books
  /** A log of the bench's own on the gateway's server. */
  readonly log: OpenLog
}

/** One load on all three ways, right after one another. */
export interface Cell {
  readonly stream: boolean
  readonly connections: number
  readonly results: { readonly [W in Way]: LoadResult }
  /** How long the tables took to catch up once the load on the gateway had stopped. */
  readonly catchUpMs: number
  /** One synced append before the load. */
  readonly appendMs: number
}

const appendsPerCell = 60

/** The projection catches up before the next load begins, so that it costs no other row its cores. */
const measureCell = async (bench: Bench, stream: boolean, connections: number, seconds: number): Promise<Cell> => {
  const { load, urls, key, books, log } = bench
  const run = (url: string): Promise<LoadResult> => load.ask({ url, key, stream, connections, seconds })
  const appendMs = await measureSyncedAppend(log, appendsPerCell)
  const upstream = await run(urls.upstream)
  const relay = await run(urls.relay)
  const gateway = await run(urls.gateway)
  return { stream, connections, results: { upstream, relay, gateway }, catchUpMs: await books.settled(), appendMs }
}

/** So many rounds of every load; the first, of the most connections alone, warms up and is not among the figures. */
export async function* measureRounds(
  bench: Bench,
  rounds: number,
  connections: readonly number[],
  seconds: number,
): AsyncGenerator<{ readonly cell: Cell; readonly warmUp: boolean }> {
  for (const stream of [false, true])
    yield { cell: await measureCell(bench, stream, Math.max(...connections), seconds), warmUp: true }
  for (let round = 0; round < rounds; round += 1)
    for (const stream of [false, true])
      for (const each of connections) yield { cell: await measureCell(bench, stream, each, seconds), warmUp: false }
}

/** The medians of all rounds of one load on one way. */
export interface Row {
  readonly stream: boolean
  readonly connections: number
  readonly way: Way
  readonly perSecond: number
  /** Of the relay's throughput in the same round. */
  readonly ofRelay: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const rowOf = (cells: readonly Cell[], way: Way): Row => {
  const over = (figure: (result: LoadResult, cell: Cell) => number): number =>
    median(cells.map((cell) => figure(cell.results[way], cell)))
  const { stream, connections } = cells[0]!
  return {
    stream,
    connections,
    way,
    perSecond: over(({ perSecond }) => perSecond),
    ofRelay: over(({ perSecond }, { results }) => perSecond / results.relay.perSecond),
    p50Ms: over(({ p50Ms }) => p50Ms),
    p99Ms: over(({ p99Ms }) => p99Ms),
  }
}

/** The cells of one load, one a round. */
export const cellsOf = (cells: readonly Cell[], stream: boolean, connections: number): readonly Cell[] =>
  cells.filter((cell) => cell.stream === stream && cell.connections === connections)

export const rowsOf = (cells: readonly Cell[], connections: readonly number[]): readonly Row[] =>
  [false, true].flatMap((stream) =>
    connections.flatMap((each) => ways.map((way) => rowOf(cellsOf(cells, stream, each), way))),
  )
