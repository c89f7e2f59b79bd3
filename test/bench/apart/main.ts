/**
 * `make bench-apart`: the roles apart against the same program in one process, in turn; then slow and large answers through the edge and
 * the proxy apart; and then both ledgers against the upstream's own count. Exits with 1 when a ledger is wrong; targets are reported,
 * not enforced.
 */
import { parseArgs } from 'node:util'
import { type BenchProcess, type ServerAddress, startProcess } from '../child.ts'
import { startGateway } from '../gateway.ts'
import { install } from '../installation.ts'
import { countAnswered, openBooks, type Reconciliation, reconcile } from '../ledger.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from '../run.ts'
import { type LargeStep, measureLarge } from './large.ts'
import { type Report, reportText, targetsOf } from './report.ts'
import { startRoles } from './roles.ts'
import { type Cell, measureRounds, rowsOf, type Side, type Sides, type Way, ways } from './rounds.ts'
import { measureSlow, measureTrickle } from './slow.ts'

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '64,256' },
      ...placeOptions,
    },
  })
  const { seconds, rounds, connections, folder, json } = values
  return {
    seconds: numberOf(seconds),
    rounds: numberOf(rounds),
    connections: connections.split(',').map(numberOf),
    folder,
    json,
  }
}
type Options = ReturnType<typeof readOptions>

/** The names by which the upstream counts. */
const callers: { readonly [W in Way]: string } = { 'one process': 'one', apart: 'apart' }
const starters = { 'one process': startGateway, apart: startRoles } as const

interface Bench {
  readonly upstreamUrl: string
  readonly load: BenchProcess
  readonly sides: Sides
}

const startSide = async (
  way: Way,
  upstreamUrl: string,
  options: Options,
  stack: AsyncDisposableStack,
): Promise<Side> => {
  const folder = await temporaryFolder(options.folder, stack)
  const gateway = stack.adopt(await starters[way](install(folder, upstreamUrl, callers[way])), (each) => each.stop())
  const { books } = await openBooks(gateway, stack)
  return { gateway, books }
}

const startChild = (script: string, stack: AsyncDisposableStack): BenchProcess =>
  stack.adopt(startProcess(script), (each) => each.stop())

const startAll = async (options: Options, stack: AsyncDisposableStack): Promise<Bench> => {
  const { url: upstreamUrl } = await startChild('upstream.ts', stack).ask<ServerAddress>()
  const load = startChild('load.ts', stack)
  const one = await startSide('one process', upstreamUrl, options, stack)
  const apart = await startSide('apart', upstreamUrl, options, stack)
  return { upstreamUrl, load, sides: { 'one process': one, apart } }
}

const cellLine = ({ stream, connections, measured }: Cell): string =>
  `${stream ? 'streams      ' : 'whole answers'} ${String(connections).padStart(4)} connections: ${ways
    .map((way) => `${way} ${Math.round(measured[way].result.perSecond)}/s`)
    .join(', ')}`

type Delivered = Record<Way, number>

const measureCells = async ({ load, sides }: Bench, options: Options, delivered: Delivered): Promise<Cell[]> => {
  const found: Cell[] = []
  for await (const { cell, warmUp } of measureRounds(load, sides, options)) {
    progress(`${warmUp ? 'warm-up  ' : 'measured '} ${cellLine(cell)}`)
    for (const way of ways) delivered[way] += cell.measured[way].result.answers
    if (!warmUp) found.push(cell)
  }
  return found
}

const measureLargeSteps = async (
  { sides }: Bench,
  client: BenchProcess,
  delivered: Delivered,
): Promise<LargeStep[]> => {
  const found: LargeStep[] = []
  for await (const step of measureLarge(client, sides.apart.gateway)) {
    progress(
      `measured  ${step.what}s of 20 MB, ${step.atOnce} at once: ${step.answers} in ${step.seconds.toFixed(1)} s`,
    )
    delivered.apart += step.answers
    found.push(step)
  }
  return found
}

const measureStreams = async (
  { load, sides, upstreamUrl }: Bench,
  client: BenchProcess,
  delivered: Delivered,
): Promise<Pick<Report, 'slow' | 'trickle'>> => {
  const { gateway } = sides.apart
  const where = { upstreamUrl, caller: callers.apart }
  const slow = await measureSlow(client, gateway, where)
  progress(`measured  a slow client: ${slow.chunks} chunks in ${slow.seconds.toFixed(1)} s`)
  const trickle = await measureTrickle(client, load, gateway, where)
  progress(`measured  a trickle: ${trickle.chunks} chunks in ${trickle.seconds.toFixed(1)} s`)
  delivered.apart += 2 + trickle.busy.answers
  return { slow, trickle }
}

const check = async ({ sides, upstreamUrl }: Bench, way: Way, delivered: Delivered): Promise<Reconciliation> => {
  const { books, gateway } = sides[way]
  return reconcile(books, gateway, await countAnswered(upstreamUrl, callers[way]), delivered[way])
}

const measureAll = async (options: Options, stack: AsyncDisposableStack): Promise<Report> => {
  const bench = await startAll(options, stack)
  const delivered: Delivered = { 'one process': 0, apart: 0 }
  const cells = await measureCells(bench, options, delivered)
  const streams = await measureStreams(bench, startChild('apart/stream-client.ts', stack), delivered)
  const large = await measureLargeSteps(bench, startChild('apart/large-client.ts', stack), delivered)
  const ledgers = {
    'one process': await check(bench, 'one process', delivered),
    apart: await check(bench, 'apart', delivered),
  }
  const { rounds, seconds, connections } = options
  return { rounds, seconds, rows: rowsOf(cells, connections), cells, ...streams, large, ledgers }
}

const options = readOptions()
const report = await runToEnd((stack) => measureAll(options, stack))
console.log(reportText(report))
if (options.json !== undefined) await writeJson(options.json, { ...report, targets: targetsOf(report) })
process.exitCode = ways.every((way) => report.ledgers[way].differences.length === 0) ? 0 : 1
