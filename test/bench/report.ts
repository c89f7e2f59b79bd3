import { availableParallelism } from 'node:os'
import { chunksPerStream } from './answers.ts'
import { median } from './figures.ts'
import { ledgerLine, type Reconciliation } from './ledger.ts'
import type { ProjectionRates } from './projection.ts'
import { type Cell, cellsOf, type Row } from './rounds.ts'
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

const wanted = { ofRelay: 0.6, appends: 3, projectedPerSecond: 40_000, rebuiltPerSecond: 60_000 } as const

const thousands = (value: number): string => `${(value / 1_000).toFixed(1)} thousand`

const throughputTargets = ({ rows }: Report): readonly Target[] =>
  rows
    .filter(({ way, connections }) => way === 'gateway' && connections === 64)
    .map(({ stream, ofRelay }) => ({
      what: `64 connections, ${stream ? 'streams' : 'whole answers'}: at least ${wanted.ofRelay} × the relay's throughput`,
      found: `${ofRelay.toFixed(2)} ×`,
      met: ofRelay >= wanted.ofRelay,
    }))

const latencyTargets = ({ cells }: Report): readonly Target[] => {
  const single = cellsOf(cells, false, 1)
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
]

export const targetsOf = (report: Report): readonly Target[] => [
  ...throughputTargets(report),
  ...latencyTargets(report),
  ...projectionTargets(report),
]

const rowsTable = (rows: readonly Row[], rate: string, unitsEach: number): string =>
  table(
    ['connections', 'through', rate, 'of the relay', 'p50 ms', 'p99 ms'],
    rows.map(({ connections, way, perSecond, ofRelay, p50Ms, p99Ms }) => [
      String(connections),
      way,
      whole(perSecond * unitsEach),
      `${ofRelay.toFixed(2)} ×`,
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
    ]),
  )

const memoryLine = ({ memory: { relay, gateway } }: Report): string =>
  `memory at its peak: relay ${megabytes(relay)}, gateway ${megabytes(gateway)}` +
  (relay === null || gateway === null ? '' : ` (${(gateway / relay).toFixed(2)} ×)`)

/** Anything but whole answers that the load met, by way and status. */
const failureLines = ({ cells }: Report): readonly string[] =>
  cells.flatMap(({ stream, connections, results }) =>
    Object.entries(results).flatMap(([way, { failures }]) =>
      Object.entries(failures).map(
        ([outcome, count]) =>
          `FAILED ${way}, ${connections} connections, ${stream ? 'streams' : 'whole answers'}: ${count} × ${outcome}`,
      ),
    ),
  )

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
    memoryLine(report),
    `tables caught up at most ${whole(catchUpMs)} ms after a load had stopped`,
    `a log of ${whole(projection.events)} events: appended ${thousands(projection.appendedPerSecond)}/s, ` +
      `projected ${thousands(projection.projectedPerSecond)}/s, rebuilt ${thousands(projection.rebuiltPerSecond)}/s, ` +
      (projection.equal ? 'equal row by row' : 'AND THE REBUILT TABLES DIFFER'),
    ...failureLines(report),
    '',
    ...targetsOf(report).map(targetLine),
    '',
    ledgerLine(report.ledger),
  ].join('\n')
}
