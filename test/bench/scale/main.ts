/**
 * `make bench-scale`: fits the cost model of docs/scale.md to short runs of one and two workers, predicts a configuration that is named
 * before it is run, runs it, and compares. Exits with 1 when a ledger is wrong; the comparison is reported, not enforced.
 */
import { parseArgs } from 'node:util'
import type { Addresses } from '../../../src/embedded/embedded.ts'
import { startRoles } from '../apart/roles.ts'
import { endlessSeconds, type LoadResult } from '../asking.ts'
import { type BenchProcess, type ServerAddress, startProcess } from '../child.ts'
import { type Cpu, cpuOf, spent } from '../cpu.ts'
import { median } from '../figures.ts'
import { startGateway } from '../gateway.ts'
import { type Gateway, type Installation, install } from '../installation.ts'
import { type Books, countAnswered, ledgerLine, openBooks, reconcile } from '../ledger.ts'
import { openBenchLog } from '../open-log.ts'
import { benchModel } from '../price.ts'
import { cpuMicros } from '../procfs.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from '../run.ts'
import {
  cellsTable,
  comparisonOf,
  costTable,
  groupOf,
  groups,
  type Measured,
  type Model,
  modelOf,
  predict,
  rolesLine,
} from './report.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    warm: { type: 'string', default: '12000' }, // Answers of each worker before the first round: V8 compiles meanwhile.
    workers: { type: 'string', default: '3' }, // What is predicted.
    connections: { type: 'string', default: '96' },
    streams: { type: 'boolean', default: false },
    ...placeOptions,
  },
})
const seconds = numberOf(values.seconds)
const rounds = numberOf(values.rounds)
const warm = numberOf(values.warm)
const named = { workers: numberOf(values.workers), connections: numberOf(values.connections) }
const fitted = { workers: [1, 2], connections: [4, 64, 256] } as const
const apartConnections = 64

interface Side {
  readonly name: string
  readonly workers: number
  readonly gateway: Gateway
  readonly books: Books
  readonly log: { size(): Promise<{ readonly frames: number; readonly bytes: number }> }
  delivered: number
}

interface Clients {
  readonly load: BenchProcess
  readonly upstream: BenchProcess
}

const startSide = async (
  name: string,
  workers: number,
  start: (installation: Installation) => Promise<Gateway>,
  { load, upstreamUrl }: { readonly load: BenchProcess; readonly upstreamUrl: string },
  stack: AsyncDisposableStack,
): Promise<Side> => {
  const installation = install(await temporaryFolder(values.folder, stack), upstreamUrl, name)
  const gateway = stack.adopt(await start(installation), (each) => each.stop())
  const { books, addresses } = await openBooks(gateway, stack)
  const { url, key } = gateway
  const [connections, requests] = [64 * workers, warm * workers]
  const asked = { url, key, format: 'chat', model: benchModel, stream: values.streams, connections, requests }
  const { answers } = await load.ask<LoadResult>({ ...asked, seconds: endlessSeconds })
  return { name, workers, gateway, books, log: await openSize(addresses, stack), delivered: answers }
}

const openSize = async (addresses: Addresses, stack: AsyncDisposableStack): Promise<Side['log']> =>
  stack.adopt(await openBenchLog(addresses, 'GATEWAY'), (each) => each.close()).log

const cpuOfClients = ({ load, upstream }: Clients): number =>
  (cpuMicros(load.pid) ?? Number.NaN) + (cpuMicros(upstream.pid) ?? Number.NaN)

const byGroup = (cpu: Cpu, answers: number): Measured['micros'] => {
  const sums = Object.fromEntries(groups.map((group) => [group, 0])) as Record<(typeof groups)[number], number>
  for (const [name, micros] of Object.entries(cpu)) sums[groupOf(name)] += micros / answers
  return sums
}

const measure = async (clients: Clients, side: Side, connections: number): Promise<Measured> => {
  const { gateway, books, log, workers } = side
  const before = { cpu: cpuOf(gateway), clients: cpuOfClients(clients), size: await log.size() }
  const { url, key } = gateway
  const asked = { url, key, format: 'chat', model: benchModel, stream: values.streams, connections, seconds }
  const { answers, perSecond, failures } = await clients.load.ask<LoadResult>(asked)
  await books.settled()
  const size = await log.size()
  side.delivered += answers
  const cpu = spent(before.cpu, cpuOf(gateway))
  const measured = {
    workers,
    connections,
    perSecond,
    frames: (size.frames - before.size.frames) / answers,
    bytes: (size.bytes - before.size.bytes) / answers,
    micros: byGroup(cpu, answers),
    byProcess: Object.fromEntries(Object.entries(cpu).map(([name, micros]) => [name, micros / answers])),
    clientMicros: (cpuOfClients(clients) - before.clients) / answers,
  }
  progress(
    `${side.name} at ${connections}: ${Math.round(perSecond)}/s, ${measured.frames.toFixed(3)} frames ${JSON.stringify(failures)}`,
  )
  return measured
}

/** The medians of rounds of one configuration. */
const medianOf = (all: readonly Measured[]): Measured => {
  const over = (figure: (measured: Measured) => number): number => median(all.map(figure))
  const { workers, connections, byProcess } = all[0]!
  return {
    workers,
    connections,
    perSecond: over((each) => each.perSecond),
    frames: over((each) => each.frames),
    bytes: over((each) => each.bytes),
    micros: Object.fromEntries(
      groups.map((group) => [group, over((each) => each.micros[group])]),
    ) as Measured['micros'],
    byProcess: Object.fromEntries(Object.keys(byProcess).map((name) => [name, over((each) => each.byProcess[name]!)])),
    clientMicros: over((each) => each.clientMicros),
  }
}

/** The first round warms up and is not among the figures. */
const measureAll = async (
  clients: Clients,
  asked: readonly { readonly side: Side; readonly connections: number }[],
): Promise<readonly Measured[]> => {
  const found = asked.map((): Measured[] => [])
  for (let round = 0; round <= rounds; round += 1)
    for (const step of asked.keys()) {
      const place = (step + round) % asked.length
      const measured = await measure(clients, asked[place]!.side, asked[place]!.connections)
      if (round > 0) found[place]!.push(measured)
    }
  return found.map(medianOf)
}

const reconcileSide = async ({ name, gateway, books, delivered }: Side, upstreamUrl: string) => ({
  name,
  ...(await reconcile(books, gateway, await countAnswered(upstreamUrl, name), delivered)),
})

const report = await runToEnd(async (stack) => {
  const child = (script: string): BenchProcess => stack.adopt(startProcess(script), (each) => each.stop())
  const clients = { upstream: child('upstream.ts'), load: child('load.ts') }
  const { url: upstreamUrl } = await clients.upstream.ask<ServerAddress>()
  const withWorkers = (workers: number): Promise<Side> => {
    const start = (installation: Installation) => startGateway(installation, '--workers', String(workers))
    return startSide(`workers-${workers}`, workers, start, { load: clients.load, upstreamUrl }, stack)
  }
  const sides: Side[] = []
  for (const workers of fitted.workers) sides.push(await withWorkers(workers))
  const apart = await startSide('apart', 1, startRoles, { load: clients.load, upstreamUrl }, stack)
  const asked = sides.flatMap((side) => fitted.connections.map((connections) => ({ side, connections })))
  const all = await measureAll(clients, [...asked, { side: apart, connections: apartConnections }])
  const points = all.slice(0, asked.length)
  const model: Model = modelOf(points)
  const predicted = predict(model, named)
  console.log(`${costTable(model, points)}\n${rolesLine(all.at(-1)!)}\n\n${cellsTable(model)}\n`)
  const side = sides.find(({ workers }) => workers === named.workers) ?? (await withWorkers(named.workers))
  const reference = points.find(({ workers, connections }) => workers === 2 && connections === 64)!
  const [measured, again] = await measureAll(clients, [
    { side, connections: named.connections },
    { side: sides[1]!, connections: reference.connections },
  ])
  console.log(comparisonOf(named, predicted, measured!, { before: reference, after: again! }))
  const ledgers = []
  for (const each of new Set([...sides, apart, side])) ledgers.push(await reconcileSide(each, upstreamUrl))
  for (const ledger of ledgers) console.log(`${ledger.name}: ${ledgerLine(ledger)}`)
  return { model, points, named, predicted, measured, ledgers }
})
if (values.json !== undefined) await writeJson(values.json, report)
process.exitCode = report.ledgers.every(({ differences }) => differences.length === 0) ? 0 : 1
