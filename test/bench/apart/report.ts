import { availableParallelism } from 'node:os'
import { httpClientLimits } from '../../../src/adapters/http/limits.ts'
import { natsLimits } from '../../../src/adapters/nats/limits.ts'
import { contentChunkBytes } from '../chat-answers.ts'
import { chunksPerStream } from '../content.ts'
import { total } from '../cpu.ts'
import { ledgerLine, type Reconciliation } from '../ledger.ts'
import { growthOf } from '../memory.ts'
import { megabytes, type Target, table, targetLine, whole } from '../table.ts'
import { type LargeStep, largeCharacters } from './large.ts'
import { type Memories, type Watched, watched } from './memory.ts'
import { type Cell, type Row, type Way, ways } from './rounds.ts'
import { bursts, busyConnections, type SlowStream, slowShape, type Trickle, trickleShape } from './slow.ts'

/** All that a run has found. */
export interface Report {
  readonly rounds: number
  readonly seconds: number
  readonly rows: readonly Row[]
  readonly cells: readonly Cell[]
  readonly slow: SlowStream
  readonly trickle: Trickle
  /** In the order in which they were measured. */
  readonly large: readonly LargeStep[]
  readonly ledgers: { readonly [W in Way]: Reconciliation }
}

const wanted = {
  ofOne: 0.5,
  /** A body takes six forms at the edge (pieces, whole, text, value, and text and bytes for the proxy); what is done with is collected late. */
  largeCopies: 8,
  /** What the gateway may hold of one stream beyond its limits: what is being read and written at the moment. */
  heldSlackBytes: 256 * 1024,
  /** Of a slow client's stream; the buffers of the sockets take what they take. */
  aheadShare: 0.5,
  /** What a heap that still warms up, and garbage, may take. */
  streamGrowthBytes: 128 * 2 ** 20,
} as const

const slowBytes = slowShape.chunks * contentChunkBytes
const heldBytesMax = httpClientLimits.upstreamBufferBytesMax + natsLimits.callsWindowBytes + wanted.heldSlackBytes

const throughputTargets = ({ rows }: Report): readonly Target[] =>
  rows
    .filter(({ way, connections }) => way === 'apart' && connections === 64)
    .map(({ stream, ofOne }) => ({
      what: `64 connections, ${stream ? 'streams' : 'whole answers'}: at least ${wanted.ofOne} × the single process`,
      found: `${ofOne.toFixed(2)} ×`,
      met: ofOne >= wanted.ofOne,
    }))

/** From before the first step: what a step leaves behind must not hide what the next one takes. */
const growthOfLarge = ({ large }: Report, role: Watched): number =>
  Math.max(...large.map(({ memory }) => growthOf({ before: large[0]!.memory[role].before, peak: memory[role].peak })))

const largeTargets = (report: Report): readonly Target[] => {
  const { large } = report
  const asked = large.reduce((sum, { requests }) => sum + requests, 0)
  const answers = large.reduce((sum, step) => sum + step.answers, 0)
  const boundBytes = Math.max(...large.map(({ atOnce }) => atOnce)) * largeCharacters * wanted.largeCopies
  return [
    { what: 'large: all answered', found: `${answers} of ${asked}`, met: answers === asked },
    ...watched.map((role) => ({
      what: `large: the ${role} grows by at most ${megabytes(boundBytes)}, ${wanted.largeCopies} × the bytes in flight`,
      found: megabytes(growthOfLarge(report, role)),
      met: growthOfLarge(report, role) <= boundBytes,
    })),
  ]
}

const growthTargets = (what: string, memory: Memories): readonly Target[] =>
  watched.map((role) => ({
    what: `${what}: the ${role} grows by at most ${megabytes(wanted.streamGrowthBytes)}`,
    found: megabytes(growthOf(memory[role])),
    met: growthOf(memory[role]) <= wanted.streamGrowthBytes,
  }))

const chunksTarget = (what: string, found: number, asked: number): Target => ({
  what: `${what}: every chunk comes`,
  found: `${whole(found)} of ${whole(asked)}`,
  met: found === asked,
})

const streamTargets = ({ slow, trickle }: Report): readonly Target[] => [
  chunksTarget('slow client', slow.chunks, slowShape.chunks),
  {
    what: `slow client: the gateway holds at most ${kilobytes(heldBytesMax)} of the stream`,
    found: kilobytes(slow.heldBytesMax),
    met: slow.heldBytesMax !== null && slow.heldBytesMax <= heldBytesMax,
  },
  {
    what: `slow client: its pauses reach the upstream, never ahead by more than ${wanted.aheadShare} × the stream`,
    found: `${(slow.aheadBytesMax / slowBytes).toFixed(2)} ×`,
    met: slow.aheadBytesMax <= wanted.aheadShare * slowBytes,
  },
  ...growthTargets('slow client', slow.memory),
  chunksTarget('trickle', trickle.chunks, trickleShape.chunks),
  ...growthTargets('trickle', trickle.memory),
]

export const targetsOf = (report: Report): readonly Target[] => [
  ...throughputTargets(report),
  ...streamTargets(report),
  ...largeTargets(report),
]

const kilobytes = (bytes: number | null): string => (bytes === null ? 'unknown' : `${whole(bytes / 1024)} KB`)

const rowsTable = (rows: readonly Row[], rate: string, unitsEach: number): string =>
  table(
    ['connections', 'roles', rate, 'of one process', 'p50 ms', 'p99 ms'],
    rows.map(({ connections, way, perSecond, ofOne, p50Ms, p99Ms }) => [
      String(connections),
      way,
      whole(perSecond * unitsEach),
      `${ofOne.toFixed(2)} ×`,
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
    ]),
  )

const processes = ['gateway', 'edge', 'proxy', 'projector', 'scheduler', 'nats', 'postgres'] as const

const cpuTable = (rows: readonly Row[]): string =>
  table(
    ['connections', 'roles', ...processes, 'together'],
    rows.map(({ connections, way, cpuEach }) => [
      String(connections),
      way,
      ...processes.map((name) => (cpuEach[name] === undefined ? '' : whole(cpuEach[name]))),
      whole(total(cpuEach)),
    ]),
  )

const loadSection = (rows: readonly Row[], head: string, rate: string, unitsEach: number): readonly string[] => [
  `${head}:`,
  rowsTable(rows, rate, unitsEach),
  '',
  `${head}, CPU µs a request:`,
  cpuTable(rows),
  '',
]

const largeTable = (steps: readonly LargeStep[]): string =>
  table(
    ['at once', 'what', 'answered', 's', 'edge before', 'peak', 'proxy before', 'peak'],
    steps.map(({ atOnce, what, answers, requests, seconds, memory: { edge, proxy } }) => [
      String(atOnce),
      `${what}s`,
      `${answers} of ${requests}`,
      seconds.toFixed(1),
      ...[edge.before, edge.peak, proxy.before, proxy.peak].map(megabytes),
    ]),
  )

const memoryText = (memory: Memories): string =>
  watched.map((role) => `${role} ${megabytes(memory[role].before)} → ${megabytes(memory[role].peak)}`).join(', ')

const slowLine = ({ slow }: Report): string =>
  `a slow client: ${whole(slow.chunks)} chunks (${megabytes(slow.chunks * contentChunkBytes)}) in ${slow.seconds.toFixed(1)} s, ` +
  `in bursts of ${kilobytes(bursts.bytes)} and pauses of ${bursts.pauseMs} ms; the upstream was at most ${megabytes(slow.aheadBytesMax)} ahead, ` +
  `of which the gateway held at most ${kilobytes(slow.heldBytesMax)}, the sockets' buffers the rest; ${memoryText(slow.memory)}`

const trickleLine = ({ trickle }: Report): string =>
  `a trickle: ${whole(trickle.chunks)} chunks, one each ${trickleShape.everyMs} ms, in ${trickle.seconds.toFixed(1)} s beside ` +
  `${busyConnections} connections at ${whole(trickle.busy.perSecond)} requests/s; between two chunks p99 ${trickle.gapP99Ms.toFixed(0)} ms, ` +
  `at most ${trickle.gapMaxMs.toFixed(0)} ms; ${memoryText(trickle.memory)}`

const idleLine = ({ cells }: Report): string => {
  const shares = cells.flatMap(({ measured }) => ways.map((way) => measured[way].idleShare))
  return `the side that was not measured used at most ${(100 * Math.max(...shares)).toFixed(1)} % of one core`
}

const catchUpLine = ({ cells }: Report): string => {
  const most = (way: Way): string => whole(Math.max(...cells.map(({ measured }) => measured[way].catchUpMs)))
  return `tables caught up at most ${ways.map((way) => `${most(way)} ms (${way})`).join(', ')} after a load had stopped`
}

/** Anything but whole answers. */
const failureLines = ({ cells, large, trickle }: Report): readonly string[] => [
  ...cells.flatMap(({ stream, connections, measured }) =>
    ways.flatMap((way) =>
      Object.entries(measured[way].result.failures).map(
        ([outcome, count]) =>
          `FAILED ${way}, ${connections} connections, ${stream ? 'streams' : 'whole answers'}: ${count} × ${outcome}`,
      ),
    ),
  ),
  ...large.flatMap(({ what, atOnce, failures }) =>
    failures.map((failure) => `FAILED a large ${what}, ${atOnce} at once: ${failure}`),
  ),
  ...Object.entries(trickle.busy.failures).map(
    ([outcome, count]) => `FAILED beside the trickle: ${count} × ${outcome}`,
  ),
]

export const reportText = (report: Report): string => {
  const { rounds, seconds, rows, large, ledgers } = report
  return [
    `${availableParallelism()} cores, medians of ${rounds} rounds of ${seconds} s each, every event synced (sync_interval: always)`,
    '',
    ...loadSection(
      rows.filter(({ stream }) => !stream),
      'Whole answers',
      'requests/s',
      1,
    ),
    ...loadSection(
      rows.filter(({ stream }) => stream),
      `Streams of ${chunksPerStream} chunks`,
      'chunks/s',
      chunksPerStream,
    ),
    `${megabytes(largeCharacters)} each, through edge and proxy apart:`,
    largeTable(large),
    '',
    slowLine(report),
    trickleLine(report),
    idleLine(report),
    catchUpLine(report),
    ...failureLines(report),
    '',
    ...targetsOf(report).map(targetLine),
    '',
    ...ways.map((way) => `${way}: ${ledgerLine(ledgers[way])}`),
  ].join('\n')
}
