import type { OpenLog } from '../../src/adapters/nats/log.ts'
import type { LoadResult } from './asking.ts'
import { busiestOf, type Case, inTurn } from './cases.ts'
import type { BenchProcess } from './child.ts'
import { type Cpu, cpuOf, spent } from './cpu.ts'
import { median } from './figures.ts'
import type { Gateway } from './installation.ts'
import type { Books } from './ledger.ts'
import type { Load } from './load.ts'
import type { Peer } from './peers.ts'
import { routes } from './routes.ts'
import { measureSyncedAppend } from './synced-append.ts'

/** What is measured, in turn: the upstream itself, the bare relay, the gateway; and then each peer, by its name. */
export const ways = ['upstream', 'relay', 'gateway'] as const
export type Way = (typeof ways)[number]

export interface Bench {
  readonly load: BenchProcess
  /** What stands before `/v1` at each. */
  readonly urls: { readonly [W in Way]: string }
  readonly gateway: Gateway
  readonly peers: readonly Peer[]
  readonly books: Books
  /** A log of the bench's own on the gateway's server. */
  readonly log: OpenLog
}

/** One load on all ways, right after one another. */
export interface Cell extends Case {
  readonly results: { readonly [W in Way]: LoadResult } & Readonly<Record<string, LoadResult>>
  /** What the gateway and its servers spent on it, until the tables had caught up. */
  readonly cpu: Cpu
  /** How long the tables took to catch up once the load on the gateway had stopped. */
  readonly catchUpMs: number
  /** One synced append before the load. */
  readonly appendMs: number
}

const appendsPerCell = 60

/** Only the gateway translates: the others are asked as the upstream speaks. */
const loadOn = (way: Way, { urls, gateway }: Bench, { route, stream, connections }: Case, seconds: number): Load => {
  const { surface, upstream, model } = routes[route]
  const format = way === 'gateway' ? surface : upstream
  return { url: urls[way], key: gateway.key, format, model, stream, connections, seconds }
}

/** Peers are compared where every gateway speaks the same. */
const peersOn = ({ peers }: Bench, { route }: Case): readonly Peer[] => (route === 'chat' ? peers : [])

/** The projection catches up before the next load begins, so that it costs no other row its cores. */
const measureCell = async (bench: Bench, measured: Case, seconds: number): Promise<Cell> => {
  const { load, books, log, gateway: running } = bench
  const { stream, connections } = measured
  const run = (way: Way): Promise<LoadResult> => load.ask(loadOn(way, bench, measured, seconds))
  const appendMs = await measureSyncedAppend(log, appendsPerCell)
  const upstream = await run('upstream')
  const relay = await run('relay')
  const before = cpuOf(running)
  const gateway = await run('gateway')
  const catchUpMs = await books.settled()
  const cpu = spent(before, cpuOf(running))
  const peers: Record<string, LoadResult> = {}
  for (const { name, ...address } of peersOn(bench, measured))
    peers[name] = await load.ask<LoadResult>({ ...address, format: 'chat', stream, connections, seconds })
  return { ...measured, results: { upstream, relay, gateway, ...peers }, cpu, catchUpMs, appendMs }
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
  /** One of ours, or a peer's name. */
  readonly way: string
  readonly perSecond: number
  /** Of the relay's throughput in the same round. */
  readonly ofRelay: number
  /** The smallest and the largest of these ratios. */
  readonly ofRelaySpread: readonly [number, number]
  readonly p50Ms: number
  readonly p99Ms: number
}

const rowOf = (cells: readonly Cell[], { route, stream, connections }: Case, way: string): Row => {
  const over = (figure: (result: LoadResult) => number): number =>
    median(cells.map(({ results }) => figure(results[way]!)))
  const ratios = cells.map(({ results }) => results[way]!.perSecond / results.relay.perSecond)
  return {
    route,
    stream,
    connections,
    way,
    perSecond: over(({ perSecond }) => perSecond),
    ofRelay: median(ratios),
    ofRelaySpread: [Math.min(...ratios), Math.max(...ratios)],
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
  cases.flatMap((each) => {
    const own = cellsOf(cells, each)
    const peers = Object.keys(own[0]?.results ?? {}).filter((name) => !ways.some((way) => way === name))
    return [...ways, ...peers].map((way) => rowOf(own, each, way))
  })
