import { availableParallelism } from 'node:os'
import { type Case, comparedConnections, labelOf } from './cases.ts'
import { chunksPerStream } from './content.ts'
import { type Cpu, cpuEachOf, total } from './cpu.ts'
import { median } from './figures.ts'
import { ledgerLine, type Reconciliation } from './ledger.ts'
import type { ProjectionRates } from './projection.ts'
import { type Cell, cellsOf, type Row } from './rounds.ts'
import { translatedRoutes } from './routes.ts'
import { megabytes, type Target, table, targetLine, whole } from './table.ts'

/** All that a run has found. */
export interface Report {
  readonly rounds: number
  readonly seconds: number
  readonly rows: readonly Row[]
  readonly cells: readonly Cell[]
  /** Peak resident bytes; null where the system does not tell. */
  readonly memory: { readonly relay: number | null; readonly gateway: number | null }
  readonly projection: ProjectionRates
  readonly ledger: Reconciliation
}

const wanted = {
  ofRelay: 0.75,
  ofChat: 0.9,
  appends: 2.5,
  projectedPerSecond: 50_000,
  rebuiltPerSecond: 80_000,
  lagP99Ms: 250,
} as const

const thousands = (value: number): string => `${(value / 1_000).toFixed(1)} thousand`

const kindOf = ({ stream }: Case): string => (stream ? 'streams' : 'whole answers')

const throughputTargets = ({ rows }: Report): readonly Target[] =>
  rows
    .filter(
      ({ way, route, connections }) => way === 'gateway' && route === 'chat' && connections === comparedConnections,
    )
    .map((row) => ({
      what: `${row.connections} connections, ${kindOf(row)}: at least ${wanted.ofRelay} × the relay's throughput`,
      found: `${row.ofRelay.toFixed(2)} ×`,
      met: row.ofRelay >= wanted.ofRelay,
    }))

const shareOfRelay = ({ results }: Cell): number => results.gateway.perSecond / results.relay.perSecond

/** Each round's share of the relay beside chat's in the same round. */
const surfaceTarget = (cells: readonly Cell[], measured: Case): readonly Target[] => {
  const own = cellsOf(cells, measured)
  const chat = cellsOf(cells, { ...measured, route: 'chat' })
  if (own.length === 0 || chat.length === 0) return []
  const ofChat = median(own.map((cell, round) => shareOfRelay(cell) / shareOfRelay(chat[round]!)))
  const { route, connections } = measured
  return [
    {
      what: `${connections} connections, ${labelOf(route)}, ${kindOf(measured)}: share of the relay's throughput at least ${wanted.ofChat} × chat's`,
      found: `${ofChat.toFixed(2)} ×`,
      met: ofChat >= wanted.ofChat,
    },
  ]
}

const surfaceTargets = ({ cells }: Report): readonly Target[] =>
  [false, true].flatMap((stream) =>
    (['messages', 'responses', ...translatedRoutes] as const).flatMap((route) =>
      surfaceTarget(cells, { route, stream, connections: comparedConnections }),
    ),
  )

const latencyTargets = ({ cells }: Report): readonly Target[] => {
  const single = cellsOf(cells, { route: 'chat', stream: false, connections: 1 })
  if (single.length === 0) return []
  const appends = median(
    single.map(({ results, appendMs }) => (results.gateway.p50Ms - results.relay.p50Ms) / appendMs),
  )
  const appendMs = median(single.map((cell) => cell.appendMs))
  return [
    {
      what: `1 connection: p50 less the relay's at most ${wanted.appends} × one synced append`,
      found: `${appends.toFixed(2)} × (one append: ${appendMs.toFixed(3)} ms)`,
      met: appends <= wanted.appends,
    },
  ]
}

const projectionTargets = ({ projection }: Report): readonly Target[] => [
  {
    what: `projected: at least ${thousands(wanted.projectedPerSecond)} events/s`,
    found: thousands(projection.projectedPerSecond),
    met: projection.projectedPerSecond >= wanted.projectedPerSecond,
  },
  {
    what: `rebuilt: at least ${thousands(wanted.rebuiltPerSecond)} events/s`,
    found: thousands(projection.rebuiltPerSecond),
    met: projection.rebuiltPerSecond >= wanted.rebuiltPerSecond,
  },
  {
    what: `from acknowledgement to tables at ${whole(projection.lag.perSecond)} events/s: p99 at most ${wanted.lagP99Ms} ms`,
    found: `${projection.lag.p99Ms.toFixed(0)} ms`,
    met: projection.lag.p99Ms <= wanted.lagP99Ms,
  },
]

export const targetsOf = (report: Report): readonly Target[] => [
  ...throughputTargets(report),
  ...surfaceTargets(report),
  ...latencyTargets(report),
  ...projectionTargets(report),
]

const wordColumns = 3

const rowsTable = (rows: readonly Row[], rate: string, unitsEach: number): string =>
  table(
    ['surface', 'connections', 'through', rate, 'of the relay', 'from – to', 'p50 ms', 'p99 ms'],
    rows.map(({ route, connections, way, perSecond, ofRelay, ofRelaySpread, p50Ms, p99Ms }) => [
      labelOf(route),
      String(connections),
      way,
      whole(perSecond * unitsEach),
      `${ofRelay.toFixed(2)} ×`,
      ofRelaySpread.map((ratio) => ratio.toFixed(2)).join(' – '),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
    ]),
    wordColumns,
  )

const memoryLine = ({ memory: { relay, gateway } }: Report): string =>
  `memory at its peak: relay ${megabytes(relay)}, gateway ${megabytes(gateway)}` +
  (relay === null || gateway === null ? '' : ` (${(gateway / relay).toFixed(2)} ×)`)

const cpuText = (cpu: Cpu): string =>
  `${whole(total(cpu))} µs (${Object.entries(cpu)
    .map(([name, micros]) => `${name} ${whole(micros)}`)
    .join(', ')})`

/** What chat costs where it is compared. */
const cpuLines = ({ cells }: Report): readonly string[] =>
  [false, true].flatMap((stream) => {
    const own = cellsOf(cells, { route: 'chat', stream, connections: comparedConnections })
    const what = `${stream ? 'a stream' : 'a whole answer'} at ${comparedConnections} connections`
    const measured = own.map(({ results, cpu }) => ({ result: results.gateway, cpu }))
    return own.length === 0 ? [] : [`CPU of ${what}: ${cpuText(cpuEachOf(measured))}`]
  })

/** Anything but whole answers that the load met, by way and status. */
const failureLines = ({ cells }: Report): readonly string[] =>
  cells.flatMap((cell) =>
    Object.entries(cell.results).flatMap(([way, { failures }]) =>
      Object.entries(failures).map(
        ([outcome, count]) =>
          `FAILED ${way}, ${labelOf(cell.route)}, ${cell.connections} connections, ${kindOf(cell)}: ${count} × ${outcome}`,
      ),
    ),
  )

const translationNote =
  "chat → anthropic: chat clients, an upstream of messages, and so on; the upstream and the relay are asked in the upstream's own format"

export const reportText = (report: Report): string => {
  const { rounds, seconds, rows, cells, projection } = report
  const catchUpMs = Math.max(...cells.map((cell) => cell.catchUpMs))
  return [
    `${availableParallelism()} cores, medians of ${rounds} rounds of ${seconds} s each, every event synced (sync_interval: always)`,
    '',
    'Whole answers:',
    rowsTable(
      rows.filter(({ stream }) => !stream),
      'requests/s',
      1,
    ),
    '',
    `Streams of ${chunksPerStream} chunks (p50, p99: the whole stream):`,
    rowsTable(
      rows.filter(({ stream }) => stream),
      'chunks/s',
      chunksPerStream,
    ),
    '',
    ...(rows.some(({ route }) => route === 'chatOverMessages') ? [translationNote] : []),
    ...cpuLines(report),
    memoryLine(report),
    `tables caught up at most ${whole(catchUpMs)} ms after a load had stopped`,
    `a log of ${whole(projection.events)} events: appended ${thousands(projection.appendedPerSecond)}/s, ` +
      `projected ${thousands(projection.projectedPerSecond)}/s, rebuilt ${thousands(projection.rebuiltPerSecond)}/s, ` +
      (projection.equal ? 'equal row by row' : 'AND THE REBUILT TABLES DIFFER'),
    `tables behind at ${whole(projection.lag.perSecond)} events/s: p50 ${whole(projection.lag.p50Ms)} ms, ` +
      `p99 ${whole(projection.lag.p99Ms)} ms, at most ${whole(projection.lag.maxMs)} ms`,
    ...failureLines(report),
    '',
    ...targetsOf(report).map(targetLine),
    '',
    ledgerLine(report.ledger),
  ].join('\n')
}
