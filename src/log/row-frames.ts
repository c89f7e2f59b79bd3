import type { Ledger } from '../domain/ledger/ledger.ts'
import type { ClosedRequest, ClosingEvent, RoutedEvent } from '../domain/ledger/requests.ts'
import { foldTask, type Task } from '../domain/video/task.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { decodeEvent } from '../events/codec.ts'
import type { Event } from '../events/envelope.ts'
import type { AdjustmentPosted } from '../events/types.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { Logger } from '../runtime/logger.ts'
import { withTimeout } from '../runtime/within.ts'
import type { EventLog } from './event-log.ts'
import { type LedgerTail, waitForLogEnd } from './ledger-tail.ts'
import { type FrameSource, readFrameAt } from './raw-frames.ts'
import { readEvent } from './read-frame.ts'

/** A row of the tables as an index of the log: its facts are in these frames, and its other columns decide nothing. */
interface IndexedRow {
  readonly table: string
  readonly id: string
  readonly sequences: readonly number[]
}

export interface RowFramesParts {
  readonly log: Pick<EventLog, 'lastSequence'>
  readonly frames: Pick<FrameSource, 'read'>
  readonly tail: Pick<LedgerTail, 'ledger' | 'waitForSequence'>
  readonly logger: Logger
}

interface IndexedEvent {
  readonly event: Event
  readonly sequence: number
}

const unavailable = (message: string): GatewayError =>
  new GatewayError('read_models_unavailable', message, { retryAfterSeconds: 1 })

/** Logs that a row does not match the log; returns the error to throw. */
export const rowMismatch = (
  { logger }: Pick<RowFramesParts, 'logger'>,
  { table, id }: IndexedRow,
  reason: string,
): GatewayError => {
  logger.log('projection.row_mismatch', { table, id, reason })
  return unavailable(`The tables do not match the event log: ${reason}.`)
}

const late = (): GatewayError => unavailable('The event log does not answer. Try again shortly.')

const utf8 = new TextDecoder()

/** Of a frame with hundreds of events only those that name the id are parsed. */
const decodeEventsNaming = (id: string, data: Uint8Array): readonly Event[] => {
  const [, ...lines] = utf8.decode(data).split('\n')
  return lines.filter((line) => line.includes(JSON.stringify(id))).map((line) => readEvent(decodeEvent(line)))
}

const readAll = async (parts: RowFramesParts, row: IndexedRow, id: string): Promise<readonly IndexedEvent[]> => {
  const { frames, tail } = parts
  const sequences = [...new Set(row.sequences)].sort((one, other) => one - other)
  const known = tail.ledger.sequence
  const last = (sequences.at(-1) ?? 0) <= known ? known : await waitForLogEnd(parts, late)
  const found = await Promise.all(sequences.map((sequence) => readFrameAt(frames, sequence, last)))
  return found.flatMap((frame) => {
    if (frame === null) throw rowMismatch(parts, row, 'a frame that it names is not in the log')
    return decodeEventsNaming(id, frame.data).map((event) => ({ event, sequence: frame.sequence }))
  })
}

/** Those that name an id, in the order of the log, once the ledger has them too. Throws `read_models_unavailable`. */
const readRowEvents = (parts: RowFramesParts, row: IndexedRow, id: string): Promise<readonly IndexedEvent[]> =>
  withTimeout(readAll(parts, row, id), sharedLimits.logStalledMs, late)

type Side<E extends RoutedEvent | ClosingEvent> = IndexedEvent & { readonly event: E }

const isRouted = (entry: IndexedEvent): entry is Side<RoutedEvent> => entry.event.type === 'RequestRouted'
const isClosing = (entry: IndexedEvent): entry is Side<ClosingEvent> =>
  entry.event.type === 'UsageRecorded' || entry.event.type === 'RequestFailed'

/** The ledger lists a second closing event among the open requests; no request is billed before it is routed. */
const hasCounted = ({ openRequests }: Ledger, routed: Side<RoutedEvent>, { event, sequence }: Side<ClosingEvent>) => {
  const open = openRequests.get(event.data.requestId)
  const isLater =
    open !== undefined && (open.closing === null || open.closing.id === event.id || open.sequence < sequence)
  return !isLater && (event.type === 'RequestFailed' || routed.sequence <= sequence)
}

/** Throws `read_models_unavailable` where the frames do not hold the request and the end of it that counted. */
export const readClosedRequest = async (
  parts: RowFramesParts,
  row: IndexedRow,
  requestId: string,
): Promise<Pick<ClosedRequest, 'routed' | 'closing'>> => {
  const events = await readRowEvents(parts, row, requestId)
  const own = events.filter(({ event }) => 'requestId' in event.data && event.data.requestId === requestId)
  const [routed, closing] = [own.find(isRouted), own.find(isClosing)]
  if (routed === undefined || closing?.event.data.workspaceId !== routed.event.data.workspaceId)
    throw rowMismatch(parts, row, 'the frames that it names do not hold the request and its end')
  if (!hasCounted(parts.tail.ledger, routed, closing))
    throw rowMismatch(parts, row, 'it names an end that did not count')
  return { routed: routed.event, closing: closing.event }
}

export const readAdjustment = async (
  parts: RowFramesParts,
  row: IndexedRow,
  workspaceId: string,
): Promise<AdjustmentPosted> => {
  for (const { event } of await readRowEvents(parts, row, row.id)) {
    if (event.type !== 'AdjustmentPosted') continue
    const { data } = event
    if (data.adjustmentId === row.id && data.workspaceId === workspaceId) return data
  }
  throw rowMismatch(parts, row, 'the frames that it names do not hold the adjustment')
}

/** As the frames leave it. Throws `read_models_unavailable` where they do not hold a task of the workspace. */
export const readTask = async (parts: RowFramesParts, row: IndexedRow, workspaceId: string): Promise<Task> => {
  const events = await readRowEvents(parts, row, row.id)
  const { lateEnds } = parts.tail.ledger
  const task = foldTask(
    events.flatMap(({ event }) => (lateEnds.has(event.id) ? [] : event)),
    { taskId: row.id, workspaceId },
  )
  if (task === null) throw rowMismatch(parts, row, 'the frames that it names do not hold the task')
  return task
}
