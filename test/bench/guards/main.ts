/**
 * `make bench-guards`: the gateway with nothing on, with limits and metrics on, with an idempotency key on every request besides, and with
 * telemetry off and on, in turn in the same rounds; and then each ledger against the upstream's own count. Exits with 1 when a ledger is wrong; the target is reported,
 * not enforced.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { pickPorts } from '../../../src/embedded/free-ports.ts'
import type { LoadResult } from '../asking.ts'
import { type BenchProcess, type ServerAddress, startProcess } from '../child.ts'
import { type Cpu, cpuOf, spent, total } from '../cpu.ts'
import { median } from '../figures.ts'
import { startGateway } from '../gateway.ts'
import { type Gateway, installWith, payer, providersAt } from '../installation.ts'
import { type Books, countAnswered, ledgerLine, openBooks, type Reconciliation, reconcile } from '../ledger.ts'
import type { Load } from '../load.ts'
import { benchModel, priceFile } from '../price.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from '../run.ts'
import { type Target, table, targetLine, whole } from '../table.ts'

/** `untraced` is the same program as `off`, since nothing of OpenTelemetry is loaded: it shows how exact the ratios are. */
const ways = ['off', 'on', 'keyed', 'untraced', 'traced'] as const
type Way = (typeof ways)[number]

const hasGuards = (way: Way): boolean => way === 'on' || way === 'keyed'

const plenty = '1000000000'
const scrapeMs = 1_000
const targetShares = { on: 0.9, keyed: 0.55, untraced: 0.99, traced: 0.95 } as const
const sampleRatio = 0.01

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '64' },
      ...placeOptions,
    },
  })
  const { seconds, rounds, connections, folder, json } = values
  return {
    ...{ seconds: numberOf(seconds), rounds: numberOf(rounds), connections: numberOf(connections) },
    folder,
    json,
  }
}
type Options = ReturnType<typeof readOptions>

interface Side {
  readonly gateway: Gateway
  readonly books: Books
  /** Where metrics are scraped while it is under load; null where there are none. */
  readonly metricsUrl: string | null
}
type Sides = { readonly [W in Way]: Side }

/** Every kind of limit binds, and refuses nobody. */
const limitPayer = async ({ command }: Gateway): Promise<void> => {
  const { key } = await command('key', 'list', payer)
  const paces = ['--requests-per-minute', plenty, '--tokens-per-minute', plenty, '--concurrent-requests', plenty]
  await command('limits', 'set', payer, ...paces)
  await command('limits', 'set', payer, '--key', String(key), '--spend-total', plenty, ...paces)
}

const startSide = async (
  way: Way,
  { upstreamUrl, receiverUrl }: { readonly upstreamUrl: string; readonly receiverUrl: string },
  options: Options,
  stack: AsyncDisposableStack,
): Promise<Side> => {
  const folder = await temporaryFolder(options.folder, stack)
  const [port] = await pickPorts(1)
  const observe = { port: hasGuards(way) ? port : 'off' }
  const telemetry = way === 'traced' ? { telemetry: { endpoint: receiverUrl, sample_ratio: sampleRatio } } : {}
  const content = { ...providersAt(`${upstreamUrl}/${way}/v1`), limits: {}, observe, ...telemetry }
  const gateway = stack.adopt(await startGateway(installWith(folder, content, priceFile)), (each) => each.stop())
  if (hasGuards(way)) await limitPayer(gateway)
  const { books } = await openBooks(gateway, stack)
  return { gateway, books, metricsUrl: hasGuards(way) ? `http://127.0.0.1:${port}/metrics` : null }
}

interface Measured {
  readonly result: LoadResult
  /** Until the tables had caught up. */
  readonly cpu: Cpu
}
/** One load on every side, right after one another. */
interface Cell {
  readonly stream: boolean
  readonly measured: { readonly [W in Way]: Measured }
}

const scraping = (metricsUrl: string | null): NodeJS.Timeout | undefined =>
  metricsUrl === null
    ? undefined
    : setInterval(() => void fetch(metricsUrl).then((response) => response.text()), scrapeMs)

const measureSide = async (
  load: BenchProcess,
  way: Way,
  { gateway, books, metricsUrl }: Side,
  question: Pick<Load, 'stream' | 'connections' | 'seconds'>,
): Promise<Measured> => {
  const before = cpuOf(gateway)
  const scrapes = scraping(metricsUrl)
  const { url, key } = gateway
  const asked: Load = { ...question, url, key, format: 'chat', model: benchModel, keyed: way === 'keyed' }
  const result = await load.ask<LoadResult>(asked)
  clearInterval(scrapes)
  await books.settled()
  return { result, cpu: spent(before, cpuOf(gateway)) }
}

/** Whoever comes first meets the machine as the cell before left it: they take turns. */
const measureCell = async (
  load: BenchProcess,
  sides: Sides,
  question: Pick<Load, 'stream' | 'connections' | 'seconds'>,
  round: number,
): Promise<Cell> => {
  const measured: Partial<Record<Way, Measured>> = {}
  for (const place of ways.keys()) {
    const way = ways[(place + round) % ways.length]!
    measured[way] = await measureSide(load, way, sides[way], question)
  }
  return { stream: question.stream, measured: measured as Cell['measured'] }
}

const cellLine = ({ stream, measured }: Cell): string =>
  `${stream ? 'streams      ' : 'whole answers'}: ${ways
    .map((way) => `${way} ${whole(measured[way].result.perSecond)}/s ${JSON.stringify(measured[way].result.failures)}`)
    .join(', ')}`

/** The first round warms up and is not among the figures. */
const measureCells = async (
  load: BenchProcess,
  sides: Sides,
  { seconds, rounds, connections }: Options,
  delivered: Record<Way, number>,
): Promise<readonly Cell[]> => {
  const cells: Cell[] = []
  for (let round = 0; round <= rounds; round += 1)
    for (const stream of [false, true]) {
      const cell = await measureCell(load, sides, { stream, connections, seconds }, round)
      progress(`${round === 0 ? 'warm-up ' : 'measured'} ${cellLine(cell)}`)
      for (const way of ways) delivered[way] += cell.measured[way].result.answers
      if (round > 0) cells.push(cell)
    }
  return cells
}

interface Row {
  readonly stream: boolean
  readonly way: Way
  readonly perSecond: number
  /** Of the throughput with nothing on, in the same round. */
  readonly ofOff: number
  readonly p50Ms: number
  /** Of the gateway and its servers, for a request. */
  readonly cpuMicros: number
}

const rowOf = (cells: readonly Cell[], stream: boolean, way: Way): Row => {
  const over = (figure: (cell: Cell) => number): number => median(cells.map(figure))
  return {
    stream,
    way,
    perSecond: over(({ measured }) => measured[way].result.perSecond),
    ofOff: over(({ measured }) => measured[way].result.perSecond / measured.off.result.perSecond),
    p50Ms: over(({ measured }) => measured[way].result.p50Ms),
    cpuMicros: over(({ measured }) => total(measured[way].cpu) / measured[way].result.answers),
  }
}

const startReceiver = async (stack: AsyncDisposableStack): Promise<string> => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const eachWay = async <Of>(make: (way: Way) => Promise<Of>): Promise<{ readonly [W in Way]: Of }> => {
  const made: Partial<Record<Way, Of>> = {}
  for (const way of ways) made[way] = await make(way)
  return made as Record<Way, Of>
}

interface Report {
  readonly rows: readonly Row[]
  readonly ledgers: { readonly [W in Way]: Reconciliation }
}

const measureAll = async (options: Options, stack: AsyncDisposableStack): Promise<Report> => {
  const child = (script: string): BenchProcess => stack.adopt(startProcess(script), (each) => each.stop())
  const { url: upstreamUrl } = await child('upstream.ts').ask<ServerAddress>()
  const load = child('load.ts')
  const addresses = { upstreamUrl, receiverUrl: await startReceiver(stack) }
  const sides = await eachWay((way) => startSide(way, addresses, options, stack))
  const delivered = { off: 0, on: 0, keyed: 0, untraced: 0, traced: 0 }
  const cells = await measureCells(load, sides, options, delivered)
  const check = async (way: Way): Promise<Reconciliation> =>
    reconcile(sides[way].books, sides[way].gateway, await countAnswered(upstreamUrl, way), delivered[way])
  const rows = [false, true].flatMap((stream) => {
    const own = cells.filter((cell) => cell.stream === stream)
    return ways.map((way) => rowOf(own, stream, way))
  })
  return { rows, ledgers: await eachWay(check) }
}

const names: { readonly [W in Way]: string } = {
  off: 'nothing on',
  on: 'limits and metrics on',
  keyed: 'and a key on every request',
  untraced: 'telemetry off',
  traced: `telemetry on, ${sampleRatio * 100} % sampled`,
}

const targetsOf = ({ rows }: Report): readonly Target[] =>
  rows.flatMap(({ stream, way, ofOff }) => {
    if (way === 'off') return []
    const least = targetShares[way]
    const what = `${stream ? 'streams' : 'whole answers'}, ${names[way]}: at least ${least} × the throughput with nothing on`
    return [{ what, found: `${ofOff.toFixed(2)} ×`, met: ofOff >= least }]
  })

const reportText = (report: Report): string =>
  [
    table(
      ['', '', 'requests/s', 'ratio', 'p50 ms', 'CPU µs each'],
      report.rows.map(({ stream, way, perSecond, ofOff, p50Ms, cpuMicros }) => [
        stream ? 'streams' : 'whole answers',
        names[way],
        whole(perSecond),
        ofOff.toFixed(2),
        p50Ms.toFixed(1),
        whole(cpuMicros),
      ]),
    ),
    '',
    ...targetsOf(report).map(targetLine),
    ...ways.map((way) => `${names[way]}: ${ledgerLine(report.ledgers[way])}`),
  ].join('\n')

const options = readOptions()
const report = await runToEnd((stack) => measureAll(options, stack))
console.log(reportText(report))
if (options.json !== undefined) await writeJson(options.json, { ...report, targets: targetsOf(report) })
process.exitCode = ways.every((way) => report.ledgers[way].differences.length === 0) ? 0 : 1
