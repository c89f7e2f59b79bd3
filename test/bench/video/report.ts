import { availableParallelism } from 'node:os'
import { pollerLimits } from '../../../src/roles/video-poller/limits.ts'
import { total } from '../cpu.ts'
import { megabytes, type Target, table, targetLine, whole } from '../table.ts'
import type { Checked } from './ledger.ts'
import type { OpenTasks } from './open-tasks.ts'
import type { Cell, Row } from './submits.ts'

/** How fast all that were submitted came to their ends. */
export interface Settling {
  readonly tasks: number
  readonly seconds: number
}

/** All that a run has found. */
export interface Report {
  readonly rounds: number
  readonly seconds: number
  readonly workspaces: number
  readonly rows: readonly Row[]
  readonly cells: readonly Cell[]
  readonly settling: Settling
  readonly openTasks: OpenTasks
  /** In the order in which they were checked. */
  readonly ledgers: readonly Checked[]
}

const submitsPerSecondMin = 2_000

export const targetsOf = ({ rows }: Report): readonly Target[] =>
  rows
    .filter(({ way }) => way !== 'synced post')
    .map(({ way, connections, perSecond }) => ({
      what: `${way}, ${connections} connections: at least ${whole(submitsPerSecondMin)} submits/s with the hold acknowledged`,
      found: `${whole(perSecond)}/s`,
      met: perSecond >= submitsPerSecondMin,
    }))

const servers = ['gateway', 'nats', 'postgres'] as const

const rowsTable = (rows: readonly Row[]): string =>
  table(
    ['connections', 'what', 'per second', 'of the post', 'p50 ms', 'p99 ms', ...servers.map((name) => `${name} µs`)],
    rows.map(({ connections, way, perSecond, ofPost, p50Ms, p99Ms, cpuEach }) => [
      String(connections),
      way,
      whole(perSecond),
      `${ofPost.toFixed(2)} ×`,
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
      ...servers.map((name) => whole(cpuEach[name] ?? Number.NaN)),
    ]),
  )

const percent = (share: number): string => `${(share * 100).toFixed(0)}%`

const openTasksLines = ({ tasks, submittedSeconds, watchedSeconds, ...found }: OpenTasks): readonly string[] => [
  `${whole(tasks)} open tasks in one video-poller, at the vendor ${submittedSeconds.toFixed(1)} s after the first submit; then for ${watchedSeconds.toFixed(0)} s:`,
  `  ${whole(found.queriesPerSecond)} queries/s; memory ${megabytes(found.memory.resident)} (${megabytes(found.memory.before)} before, ${megabytes(found.memory.peak)} at its peak)`,
  `  of one core: ${Object.entries(found.cpu)
    .map(([name, share]) => `${name} ${percent(share)}`)
    .join(', ')}, together ${percent(total(found.cpu))}`,
]

const failureLines = ({ cells }: Report): readonly string[] =>
  cells.flatMap(({ connections, measured }) =>
    Object.entries(measured).flatMap(([way, { result }]) =>
      Object.entries(result.failures).map(
        ([outcome, count]) => `FAILED ${way}, ${connections} connections: ${count} × ${outcome}`,
      ),
    ),
  )

const ledgerLine = ({ text, differences }: Checked): string =>
  differences.length === 0 ? `ledger right: ${text}` : `THE LEDGER IS WRONG: ${text}; found ${differences.join(', ')}`

export const reportText = (report: Report): string => {
  const { rounds, seconds, workspaces, rows, settling, openTasks, ledgers } = report
  return [
    `${availableParallelism()} cores, medians of ${rounds} rounds of ${seconds} s each, every event and payload synced (sync_interval: always)`,
    '',
    `Submits, the whole gateway in one process; many workspaces are ${whole(workspaces)}; CPU is of the gateway and its servers, a submit:`,
    rowsTable(rows),
    '',
    `settled by a gateway that was started anew: ${whole(settling.tasks)} tasks in ${settling.seconds.toFixed(0)} s, the first ${(pollerLimits.taskDoubtMs / 1_000).toFixed(0)} of which it waits before it asks what became of them`,
    '',
    ...openTasksLines(openTasks),
    ...failureLines(report),
    '',
    ...targetsOf(report).map(targetLine),
    '',
    ...ledgers.map(ledgerLine),
  ].join('\n')
}
