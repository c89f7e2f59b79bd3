/**
 * `make bench`: the gateway against a bare relay and against its own upstream, in turn, and then its ledger against the upstream's
 * own count. Exits with 1 when the ledger is wrong; targets are reported, not enforced.
 */
import { parseArgs } from 'node:util'
import type { Addresses } from '../../src/embedded/embedded.ts'
import { programFlags } from '../support/program.ts'
import { casesOf, labelOf, surfacesOf } from './cases.ts'
import { type BenchProcess, type ServerAddress, startProcess } from './child.ts'
import { startGateway } from './gateway.ts'
import { type Gateway, install } from './installation.ts'
import { countAnswered, openBooks, type Reconciliation, reconcile } from './ledger.ts'
import { openBenchLog } from './open-log.ts'
import { peerOf } from './peers.ts'
import { peakMemoryBytes } from './procfs.ts'
import type { ProjectionQuestion, ProjectionRates } from './projection.ts'
import { type Report, reportText, targetsOf } from './report.ts'
import { type Bench, type Cell, measureRounds, rowsOf, ways } from './rounds.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from './run.ts'

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '1.5' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '1,64,256' }, // Of chat.
      surfaces: { type: 'string', default: 'chat,messages,responses' },
      events: { type: 'string', default: '200000' },
      peer: { type: 'string', multiple: true, default: [] },
      'upstream-port': { type: 'string', default: '0' }, // Named where peers are configured to it.
      ...placeOptions,
    },
  })
  const { seconds, rounds, connections, surfaces, events, peer, folder, json } = values
  return {
    seconds: numberOf(seconds),
    rounds: numberOf(rounds),
    cases: casesOf(surfacesOf(surfaces), connections.split(',').map(numberOf)),
    events: numberOf(events),
    peers: peer.map((each) => peerOf(each, ways)),
    upstreamPort: values['upstream-port'],
    folder,
    json,
  }
}
type Options = ReturnType<typeof readOptions>

interface Started {
  readonly bench: Bench
  readonly gateway: Gateway
  readonly relay: BenchProcess
  readonly upstreamUrl: string
  readonly addresses: Addresses
}

const caller = 'gateway'
const pace = { perSecond: 5_000, seconds: 5 } as const

const startAll = async ({ peers, ...options }: Options, stack: AsyncDisposableStack): Promise<Started> => {
  const started = <T extends { stop(): Promise<void> }>(part: T): T => stack.adopt(part, (each) => each.stop())
  const folder = await temporaryFolder(options.folder, stack)
  const upstream = started(startProcess('upstream.ts', [options.upstreamPort]))
  const { url: upstreamUrl } = await upstream.ask<ServerAddress>()
  const relay = started(startProcess('relay.ts', [`${upstreamUrl}/relay`]))
  const { url: relayUrl } = await relay.ask<ServerAddress>()
  const load = started(startProcess('load.ts'))
  const gateway = started(await startGateway(install(folder, upstreamUrl, caller)))
  const { books, addresses } = await openBooks(gateway, stack)
  const own = stack.adopt(await openBenchLog(addresses, 'BENCH'), (each) => each.close())
  const urls = {
    upstream: `${upstreamUrl}/upstream`,
    relay: relayUrl,
    gateway: gateway.url,
  }
  const bench = { load, urls, gateway, peers, books, log: own.log }
  return { bench, gateway, relay, upstreamUrl, addresses }
}

const cellLine = ({ route, stream, connections, results }: Cell): string =>
  `${labelOf(route).padEnd(16)} ${stream ? 'streams      ' : 'whole answers'} ${String(connections).padStart(4)} connections: ${Object.entries(
    results,
  )
    .map(([way, { perSecond }]) => `${way} ${Math.round(perSecond)}/s`)
    .join(', ')}`

const measureCells = async (bench: Bench, options: Options): Promise<{ measured: Cell[]; delivered: number }> => {
  const measured: Cell[] = []
  let delivered = 0
  for await (const { cell, warmUp } of measureRounds(bench, options.rounds, options.cases, options.seconds)) {
    progress(`${warmUp ? 'warm-up  ' : 'measured '} ${cellLine(cell)}`)
    delivered += cell.results.gateway.answers
    if (!warmUp) measured.push(cell)
  }
  return { measured, delivered }
}

const check = async ({ bench, gateway, upstreamUrl }: Started, delivered: number): Promise<Reconciliation> =>
  reconcile(bench.books, gateway, await countAnswered(upstreamUrl, caller), delivered)

const measureAll = async (options: Options, stack: AsyncDisposableStack): Promise<Report> => {
  const all = await startAll(options, stack)
  const { measured, delivered } = await measureCells(all.bench, options)
  const memory = { relay: peakMemoryBytes(all.relay.pid), gateway: peakMemoryBytes(all.gateway.pids['gateway']!) }
  const ledger = await check(all, delivered)
  const traffic = stack.adopt(startProcess('projection.ts', [], programFlags), (each) => each.stop())
  const question: ProjectionQuestion = { addresses: all.addresses, events: options.events, pace }
  const projection = await traffic.ask<ProjectionRates>(question)
  const rows = rowsOf(measured, options.cases)
  return { rounds: options.rounds, seconds: options.seconds, rows, cells: measured, memory, projection, ledger }
}

const options = readOptions()
const report = await runToEnd((stack) => measureAll(options, stack))
console.log(reportText(report))
if (options.json !== undefined) await writeJson(options.json, { ...report, targets: targetsOf(report) })
process.exitCode = report.ledger.differences.length === 0 ? 0 : 1
