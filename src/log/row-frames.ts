import type { Ledger } from '../domain/ledger/ledger.ts'
import type { ClosedRequest, ClosingEvent, RoutedEvent } from '../domain/ledger/requests.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { Event } from '../events/envelope.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { Logger } from '../runtime/logger.ts'
import { withTimeout } from '../runtime/within.ts'
import type { EventLog } from './event-log.ts'
import { type LedgerTail, waitForLogEnd } from './ledger-tail.ts'
import { type FrameSource, readFrameAt } from './raw-frames.ts'
import { decodeEvents } from './read-frame.ts'

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

const readAll = async (parts: RowFramesParts, row: IndexedRow): Promise<readonly IndexedEvent[]> => {
  const { frames, tail } = parts
  const sequences = [...new Set(row.sequences)].sort((one, other) => one - other)
  const known = tail.ledger.sequence
  const last = (sequences.at(-1) ?? 0) <= known ? known : await waitForLogEnd(parts, late)
  const found = await Promise.all(sequences.map((sequence) => readFrameAt(frames, sequence, last)))
  return found.flatMap((frame) => {
    if (frame === null) throw rowMismatch(parts, row, 'a frame that it names is not in the log')
    return decodeEvents(frame.data).map((event) => ({ event, sequence: frame.sequence }))
  })
}

/** In the order of the log, once the ledger has them too. Throws `read_models_unavailable`. */
export const readRowEvents = (parts: RowFramesParts, row: IndexedRow): Promise<readonly IndexedEvent[]> =>
  withTimeout(readAll(parts, row), sharedLimits.logStalledMs, late)

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
  const events = await readRowEvents(parts, row)
  const own = events.filter(({ event }) => 'requestId' in event.data && event.data.requestId === requestId)
  const [routed, closing] = [own.find(isRouted), own.find(isClosing)]
  if (routed === undefined || closing?.event.data.workspaceId !== routed.event.data.workspaceId)
    throw rowMismatch(parts, row, 'the frames that it names do not hold the request and its end')
  if (!hasCounted(parts.tail.ledger, routed, closing))
    throw rowMismatch(parts, row, 'it names an end that did not count')
  return { routed: routed.event, closing: closing.event }
}
