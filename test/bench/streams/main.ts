/**
 * `make bench-streams`: many streams open at once, through the bare relay and through the gateway, in turn: the memory that each takes, the
 * chunks that pass, and then the ledger against the upstream's own count. Exits with 1 when the ledger is wrong; targets are reported, not
 * enforced.
 */
import { parseArgs } from 'node:util'
import type { LoadResult } from '../asking.ts'
import { type BenchProcess, type ServerAddress, startProcess } from '../child.ts'
import { median } from '../figures.ts'
import { startGateway } from '../gateway.ts'
import { install } from '../installation.ts'
import { countAnswered, ledgerLine, openBooks, type Reconciliation, reconcile } from '../ledger.ts'
import type { Load } from '../load.ts'
import { growthOf, MemoryWatch } from '../memory.ts'
import { benchModel } from '../price.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from '../run.ts'
import { ordinaryShape } from '../shape.ts'
import { type Target, table, targetLine, whole } from '../table.ts'

const ways = ['relay', 'gateway'] as const
type Way = (typeof ways)[number]

const wanted = { ofRelay: 0.7, memoryOfRelay: 1.3 } as const

/** Each is open for some seconds: they stand beside one another, whatever one costs to begin. */
const openShape = { ...ordinaryShape, chunks: 24, everyMs: 250 }
const withinSeconds = 120
const warmUpConnections = 64
const warmUpSeconds = 3

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      streams: { type: 'string', default: '1000' },
      chunks: { type: 'string', default: '200' },
      rounds: { type: 'string', default: '3' },
      ...placeOptions,
    },
  })
  const { streams, chunks, rounds, folder, json } = values
  return { streams: numberOf(streams), chunks: numberOf(chunks), rounds: numberOf(rounds), folder, json }
}
type Options = ReturnType<typeof readOptions>

interface Side {
  readonly pid: number
  readonly address: Pick<Load, 'url' | 'key' | 'format' | 'model'>
}

interface Bench {
  readonly load: BenchProcess
  readonly sides: { readonly [W in Way]: Side }
  /** Until the tables have caught up, so that they cost nobody else the cores. */
  settled(): Promise<number>
}

/** Failures end the bench: figures of streams that broke off would mean nothing. */
const ask = async (bench: Bench, way: Way, load: Pick<Load, 'connections' | 'seconds'> & Partial<Load>) => {
  const { address } = bench.sides[way]
  const result = await bench.load.ask<LoadResult>({ ...address, stream: true, ...load })
  await bench.settled()
  if (Object.keys(result.failures).length > 0) throw new Error(`${way}: ${JSON.stringify(result.failures)}`)
  return result
}

type OfEach = { readonly [W in Way]: number }

/** Whoever comes first meets the machine as the round before left it: they take turns. */
const inTurn = async (round: number, measure: (way: Way) => Promise<number>): Promise<OfEach> => {
  const found = { relay: 0, gateway: 0 }
  for (const way of round % 2 === 0 ? ways : ways.toReversed()) found[way] = await measure(way)
  return found
}

/** Bytes of a stream: what the process takes while all are open, above what it had after a small load. */
const measureMemory = (bench: Bench, { streams }: Options): Promise<OfEach> =>
  inTurn(0, async (way) => {
    await ask(bench, way, { connections: warmUpConnections, seconds: warmUpSeconds })
    const watch = new MemoryWatch(bench.sides[way].pid)
    await ask(bench, way, { connections: streams, seconds: withinSeconds, requests: streams, shape: openShape })
    const bytes = growthOf(watch.stop()) / streams
    progress(`measured  memory of a stream, ${way}: ${whole(bytes / 1024)} KB`)
    return bytes
  })

/** Chunks a second: every connection reads one stream to its end, as fast as it comes. */
const measureChunks = (bench: Bench, { streams, chunks }: Options, round: number): Promise<OfEach> =>
  inTurn(round, async (way) => {
    const shape = { ...ordinaryShape, chunks }
    const load = { connections: streams, seconds: withinSeconds, requests: streams, shape }
    const { perSecond } = await ask(bench, way, load)
    progress(`measured  round ${round + 1}, ${way}: ${whole(perSecond * chunks)} chunks/s`)
    return perSecond * chunks
  })

interface Report {
  readonly streams: number
  readonly memory: OfEach
  /** One a round. */
  readonly chunks: readonly OfEach[]
  readonly ledger: Reconciliation
}

const measureAll = async (options: Options, stack: AsyncDisposableStack): Promise<Report> => {
  const child = (script: string, args: readonly string[] = []): BenchProcess =>
    stack.adopt(startProcess(script, args), (each) => each.stop())
  const { url: upstreamUrl } = await child('upstream.ts').ask<ServerAddress>()
  const relay = child('relay.ts', [`${upstreamUrl}/relay`])
  const { url: relayUrl } = await relay.ask<ServerAddress>()
  const folder = await temporaryFolder(options.folder, stack)
  const gateway = stack.adopt(await startGateway(install(folder, upstreamUrl, 'gateway')), (each) => each.stop())
  const { books } = await openBooks(gateway, stack)
  const common = { key: gateway.key, format: 'chat', model: benchModel } as const
  const sides = {
    relay: { pid: relay.pid, address: { ...common, url: relayUrl } },
    gateway: { pid: gateway.pids['gateway']!, address: { ...common, url: gateway.url } },
  }
  const bench = { load: child('load.ts'), sides, settled: () => books.settled() }
  const memory = await measureMemory(bench, options)
  const chunks: OfEach[] = []
  for (let round = 0; round < options.rounds; round += 1) chunks.push(await measureChunks(bench, options, round))
  const ledger = await reconcile(books, gateway, await countAnswered(upstreamUrl, 'gateway'), 0)
  return { streams: options.streams, memory, chunks, ledger }
}

const ratios = ({ chunks }: Report): readonly number[] => chunks.map(({ relay, gateway }) => gateway / relay)

const targetsOf = (report: Report): readonly Target[] => {
  const ofRelay = median(ratios(report))
  const memoryOfRelay = report.memory.gateway / report.memory.relay
  return [
    {
      what: `${report.streams} open streams: at least ${wanted.ofRelay} × the relay's chunks/s`,
      found: `${ofRelay.toFixed(2)} × (${Math.min(...ratios(report)).toFixed(2)} – ${Math.max(...ratios(report)).toFixed(2)})`,
      met: ofRelay >= wanted.ofRelay,
    },
    {
      what: `${report.streams} open streams: at most ${wanted.memoryOfRelay} × the relay's memory of a stream`,
      found: `${memoryOfRelay.toFixed(2)} ×`,
      met: memoryOfRelay <= wanted.memoryOfRelay,
    },
  ]
}

const reportText = (report: Report): string =>
  [
    table(
      ['through', 'chunks/s', 'KB a stream'],
      ways.map((way) => [
        way,
        whole(median(report.chunks.map((round) => round[way]))),
        whole(report.memory[way] / 1024),
      ]),
      1,
    ),
    '',
    ...targetsOf(report).map(targetLine),
    '',
    ledgerLine(report.ledger),
  ].join('\n')

const options = readOptions()
const report = await runToEnd((stack) => measureAll(options, stack))
console.log(reportText(report))
if (options.json !== undefined) await writeJson(options.json, { ...report, targets: targetsOf(report) })
process.exitCode = report.ledger.differences.length === 0 ? 0 : 1
