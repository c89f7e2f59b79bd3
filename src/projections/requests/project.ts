import type { Applied, Ledger } from '../../domain/ledger/ledger.ts'
import type { ClosedRequest, ClosingEvent, OpenRequest, RoutedEvent } from '../../domain/ledger/requests.ts'
import { GroupedCounts } from '../schema/grouped-counts.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedOrNull, storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { countFirstToken, firstTokenColumns, hourOf, requestTables } from './table.ts'

type Ending = Pick<
  RowOf<'requests'>,
  'status' | 'error_status' | 'error_reason' | 'served_model' | 'level' | 'total' | 'first_token_ms'
>

const endingOf = ({ closing }: ClosedRequest): Ending =>
  closing.type === 'RequestFailed'
    ? {
        status: 'failed',
        error_status: closing.data.status,
        error_reason: storedText(closing.data.reason),
        served_model: null,
        level: null,
        total: '0',
        first_token_ms: null,
      }
    : {
        status: closing.data.outcome === 'interrupted' ? 'interrupted' : 'ok',
        error_status: null,
        error_reason: null,
        served_model: storedText(closing.data.model),
        level: closing.data.level,
        total: closing.data.total,
        first_token_ms: closing.data.firstTokenMs ?? null,
      }

const requestRow = ({ sequence, index }: Applied, closed: ClosedRequest): RowOf<'requests'> => {
  const { data, time } = closed.routed
  return {
    ...endingOf(closed), // First, where V8 copies it as it is.
    request_id: data.requestId,
    sequence,
    event_index: index,
    first_sequence: closed.firstSequence,
    workspace_id: data.workspaceId,
    key_id: data.keyId,
    surface: data.surface,
    model: storedText(data.model),
    router: storedOrNull(data.router),
    stream: data.stream,
    attempts: JSON.stringify(closed.closing.data.attempts),
    reserved: data.reserved,
    routed_at: time,
    closed_at: closed.closing.time,
  }
}

const openRequestRow = (requestId: string, { sequence, routed, closing }: OpenRequest): RowOf<'open_requests'> => ({
  request_id: requestId,
  sequence,
  routed: routed === null ? null : JSON.stringify(routed),
  closing: closing === null ? null : JSON.stringify(closing),
})

type Side = RoutedEvent | ClosingEvent

/** An event of a request that is open in the ledger was opened by this batch; any other was ignored. */
const openRequestRows = (sides: ReadonlySet<Side>, { openRequests }: Ledger): readonly RowOf<'open_requests'>[] =>
  Array.from(sides).flatMap((side) => {
    const open = openRequests.get(side.data.requestId)
    return open !== undefined && (open.routed === side || open.closing === side)
      ? [openRequestRow(side.data.requestId, open)]
      : []
  })

type OutcomeGroup = Pick<RowOf<'outcomes_by_hour'>, 'hour' | 'workspace_id' | 'model' | 'key_id'>

const outcomeGroup = ({ routed: { data }, closing }: ClosedRequest): OutcomeGroup => ({
  hour: hourOf(closing.time),
  workspace_id: data.workspaceId,
  model: storedText(data.model),
  key_id: data.keyId,
})

const outcomeColumns = ['requests', 'failed', 'interrupted', ...firstTokenColumns] as const

const outcomeCounts = ({ closing }: ClosedRequest): { readonly [C in (typeof outcomeColumns)[number]]?: number } =>
  closing.type === 'RequestFailed'
    ? { requests: 1, failed: 1 }
    : {
        ...countFirstToken(closing.data.firstTokenMs),
        requests: 1,
        interrupted: closing.data.outcome === 'interrupted' ? 1 : 0,
      }

export const requestsReadModel = defineReadModel({
  name: 'requests',
  version: 3,
  tables: requestTables,
  startBatch: () => {
    const rows: RowOf<'requests'>[] = []
    const outcomes = new GroupedCounts<OutcomeGroup, (typeof outcomeColumns)[number]>(outcomeColumns)
    const sides = new Set<Side>()
    const completedOpen: { readonly request_id: string }[] = []
    return {
      addEvent: (applied) => {
        const { event, closed } = applied
        if (event.type !== 'RequestRouted' && event.type !== 'UsageRecorded' && event.type !== 'RequestFailed') return
        if (closed === null) {
          sides.add(event)
          return
        }
        const first = event === closed.routed ? closed.closing : closed.routed
        if (!sides.delete(first)) completedOpen.push({ request_id: closed.routed.data.requestId })
        rows.push(requestRow(applied, closed))
        outcomes.add(outcomeGroup(closed), outcomeCounts(closed))
      },
      finish: (ledger) => ({
        written: {
          requests: rows,
          open_requests: openRequestRows(sides, ledger),
          outcomes_by_hour: outcomes.rows(),
        },
        deleted: { open_requests: completedOpen },
      }),
    }
  },
})
