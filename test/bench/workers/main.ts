/**
 * `make bench-workers`: the gateway in one process, and with each number of workers, in turn in the same rounds; and then each ledger
 * against the upstream's own count. Exits with 1 when a ledger is wrong. With `--followers`, what workers without load cost instead.
 */
import { parseArgs } from 'node:util'
import type { LoadResult } from '../asking.ts'
import { type BenchProcess, type ServerAddress, startProcess } from '../child.ts'
import { cpuOf, spent, total } from '../cpu.ts'
import { median } from '../figures.ts'
import { startGateway } from '../gateway.ts'
import { type Gateway, install } from '../installation.ts'
import { type Books, countAnswered, ledgerLine, openBooks, reconcile } from '../ledger.ts'
import type { Load } from '../load.ts'
import { benchModel } from '../price.ts'
import { residentBytes } from '../procfs.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from '../run.ts'
import { table, whole } from '../table.ts'
import { followersTable, measureFollowers } from './followers.ts'

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '2' }, // Some numbers of them, with commas.
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '1,64,256' },
    followers: { type: 'string' }, // Some numbers of workers beside one process that has the load.
    ...placeOptions,
  },
})
const listOf = (text: string): readonly number[] => text.split(',').map(numberOf)
const options = {
  workers: listOf(values.workers),
  seconds: numberOf(values.seconds),
  rounds: numberOf(values.rounds),
  connections: listOf(values.connections),
}

interface Side {
  readonly name: string
  readonly gateway: Gateway
  readonly books: Books
  delivered: number
}

interface Measured {
  readonly name: string
  readonly stream: boolean
  readonly connections: number
  readonly result: LoadResult
  /** Of all its processes and servers, until the tables had caught up. */
  readonly cpuMicros: number
  readonly residentBytes: number
}

const bytesPerMegabyte = 1024 * 1024

const startSide = async (workers: number, upstreamUrl: string, stack: AsyncDisposableStack): Promise<Side> => {
  const folder = await temporaryFolder(values.folder, stack)
  const name = workers === 0 ? 'one process' : `${workers} workers`
  const installation = install(folder, upstreamUrl, `workers-${workers}`)
  const words = workers === 0 ? [] : ['--workers', String(workers)]
  const gateway = stack.adopt(await startGateway(installation, ...words), (each) => each.stop())
  return { name, gateway, books: (await openBooks(gateway, stack)).books, delivered: 0 }
}

const measure = async (
  load: BenchProcess,
  side: Side,
  { stream, connections }: { readonly stream: boolean; readonly connections: number },
): Promise<Measured> => {
  const { name, gateway, books } = side
  const before = cpuOf(gateway)
  const { url, key } = gateway
  const { seconds } = options
  const asked: Load = { url, key, format: 'chat', model: benchModel, stream, connections, seconds }
  const result = await load.ask<LoadResult>(asked)
  const resident = Object.values(gateway.pids).reduce((sum, pid) => sum + (residentBytes(pid) ?? 0), 0)
  await books.settled()
  side.delivered += result.answers
  const cpuMicros = total(spent(before, cpuOf(gateway))) / result.answers
  return { name, stream, connections, result, cpuMicros, residentBytes: resident }
}

/** The first round warms up and is not among the figures; the order changes from round to round. */
const measureRounds = async (load: BenchProcess, sides: readonly Side[]): Promise<readonly Measured[]> => {
  const all: Measured[] = []
  for (let round = 0; round <= options.rounds; round += 1)
    for (const stream of [false, true])
      for (const connections of options.connections)
        for (const place of sides.keys()) {
          const measured = await measure(load, sides[(place + round) % sides.length]!, { stream, connections })
          const { name, result } = measured
          const failures = JSON.stringify(result.failures)
          progress(
            `${stream ? 'streams' : 'whole'} at ${connections}, ${name}: ${whole(result.perSecond)}/s ${failures}`,
          )
          if (round > 0) all.push(measured)
        }
  return all
}

const rowsOf = (all: readonly Measured[], sides: readonly Side[]) =>
  [false, true].flatMap((stream) =>
    options.connections.flatMap((connections) =>
      sides.map(({ name }) => {
        const own = all.filter(
          (each) => each.name === name && each.stream === stream && each.connections === connections,
        )
        const one = all.filter(
          (each) => each.name === sides[0]?.name && each.stream === stream && each.connections === connections,
        )
        return {
          stream,
          connections,
          name,
          perSecond: median(own.map(({ result }) => result.perSecond)),
          ofOne: median(own.map(({ result }, round) => result.perSecond / one[round]!.result.perSecond)),
          p50Ms: median(own.map(({ result }) => result.p50Ms)),
          p99Ms: median(own.map(({ result }) => result.p99Ms)),
          cpuMicros: median(own.map(({ cpuMicros }) => cpuMicros)),
          megabytes: Math.max(...own.map((each) => each.residentBytes)) / bytesPerMegabyte,
        }
      }),
    ),
  )

const compareWorkers = async (load: BenchProcess, upstreamUrl: string, stack: AsyncDisposableStack) => {
  const sides: Side[] = []
  for (const workers of [0, ...options.workers]) sides.push(await startSide(workers, upstreamUrl, stack))
  const rows = rowsOf(await measureRounds(load, sides), sides)
  const ledgers = []
  for (const [index, { name, gateway, books, delivered }] of sides.entries()) {
    const answered = await countAnswered(upstreamUrl, `workers-${[0, ...options.workers][index]}`)
    ledgers.push({ name, ...(await reconcile(books, gateway, answered, delivered)) })
  }
  return { rows, ledgers }
}

const reportText = (report: Awaited<ReturnType<typeof compareWorkers>>): string =>
  [
    table(
      ['', 'connections', '', 'requests/s', 'ratio', 'p50 ms', 'p99 ms', 'CPU µs each', 'MB'],
      report.rows.map(({ stream, connections, name, perSecond, ofOne, p50Ms, p99Ms, cpuMicros, megabytes }) => [
        stream ? 'streams' : 'whole answers',
        String(connections),
        name,
        whole(perSecond),
        ofOne.toFixed(2),
        p50Ms.toFixed(1),
        p99Ms.toFixed(1),
        whole(cpuMicros),
        whole(megabytes),
      ]),
    ),
    '',
    ...report.ledgers.map((ledger) => `${ledger.name}: ${ledgerLine(ledger)}`),
  ].join('\n')

const found = await runToEnd(async (stack) => {
  const child = (script: string): BenchProcess => stack.adopt(startProcess(script), (each) => each.stop())
  const { url: upstreamUrl } = await child('upstream.ts').ask<ServerAddress>()
  const load = child('load.ts')
  if (values.followers !== undefined) {
    const followers = listOf(values.followers)
    const rows = await measureFollowers(load, upstreamUrl, { ...options, followers, folder: values.folder }, stack)
    return { text: followersTable(rows), report: { rows }, isRight: true }
  }
  const report = await compareWorkers(load, upstreamUrl, stack)
  const isRight = report.ledgers.every(({ differences }) => differences.length === 0)
  return { text: reportText(report), report, isRight }
})
console.log(found.text)
if (values.json !== undefined) await writeJson(values.json, found.report)
process.exitCode = found.isRight ? 0 : 1
