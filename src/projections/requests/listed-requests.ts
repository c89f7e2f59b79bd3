import { sql } from 'kysely'
import type { Attempt } from '../../events/types.ts'
import { projectionLimits } from '../charges/limits.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredTags, restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels, RowOf } from '../schema/tables.ts'
import {
  type EntryPosition,
  findSpan,
  isInSpan,
  minPosition,
  type StatementRange,
  type StatementSpan,
} from '../statements/queries.ts'
import { usageColumnNames } from '../usage/table.ts'

interface ListedRequest {
  readonly id: string
  readonly workspaceId: string
  /** Of the event that completed it. */
  readonly sequence: number
  readonly eventIndex: number
  readonly keyId: string
  readonly surface: string
  readonly model: string
  readonly servedModel: string | null
  readonly stream: boolean
  readonly status: RowOf<'requests'>['status']
  readonly errorStatus: number | null
  readonly errorReason: string | null
  readonly attempts: readonly Attempt[]
  readonly promptTokens: number | null
  readonly outputTokens: number | null
  /** By kind, those above zero; null for one that failed. */
  readonly tokens: Readonly<Record<string, number>> | null
  readonly totalPicos: bigint
  readonly tags: Readonly<Record<string, string>> | null
  readonly routedAt: Date
  readonly closedAt: Date
  readonly firstTokenMs: number | null
}

interface RequestQuery extends StatementRange {
  readonly id?: string | undefined
  readonly status?: readonly ListedRequest['status'][] | undefined
  /** As asked for, or as served. */
  readonly model?: string | undefined
  readonly key?: string | undefined
  readonly surface?: string | undefined
  readonly reason?: string | undefined
  readonly upstreamRequestId?: string | undefined
  readonly readOn?: EntryPosition | undefined
  readonly limit: number
}

export interface RequestPage {
  readonly requests: readonly ListedRequest[]
  /** The rest ends before this place; null if nothing is left. */
  readonly next: EntryPosition | null
  /** When the request at `next` ended; null with it. */
  readonly searchedTo: Date | null
}

/** As the index of the migration has them. */
const upstreamRequestIds = sql`case when attempts::text like '%\\\\u%' then '[]'
  else jsonb_path_query_array(attempts::jsonb, '$[*].upstreamRequestId') end`

/** Found before anything else: the planner takes an id for frequent, and would look through the newest requests for it. */
const selectWithUpstreamId = (db: ReadModels, upstreamRequestId: string) =>
  db
    .selectFrom('requests')
    .selectAll()
    .where(sql<boolean>`(${upstreamRequestIds}) @> ${JSON.stringify([upstreamRequestId])}::jsonb`)
    .offset(0)
    .as('requests')

/** The end of its range in the primary key, whose order is that of bytes. */
const behind = '\u{10ffff}'

/** By what it begins with, if that is long enough, and, behind a `…`, ends with. */
const hasId = (id: string) => {
  const [first = '', last = ''] = id.split('…')
  if (first.length < projectionLimits.requestIdCharactersMin) return sql<boolean>`request_id = ${id}`
  return sql<boolean>`request_id >= ${first} and request_id < ${first + behind} and right(request_id, ${last.length}) = ${last}`
}

type NamedRequest = Pick<RequestQuery, 'id' | 'upstreamRequestId'>

const selectNewest = (
  db: ReadModels,
  workspaceId: string | null,
  span: StatementSpan,
  { id, upstreamRequestId }: NamedRequest,
) =>
  db
    .selectFrom(upstreamRequestId === undefined ? 'requests' : selectWithUpstreamId(db, upstreamRequestId))
    .selectAll()
    .$if(workspaceId !== null, (query) => query.where('workspace_id', '=', workspaceId!))
    .$if(id !== undefined, (query) => query.where(hasId(id!)))
    .where(isInSpan(span))
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
    .limit(projectionLimits.requestsScannedMax)

const findRows = (db: ReadModels, workspaceId: string | null, span: StatementSpan, wanted: RequestQuery) => {
  const { status, model, key, surface, reason, limit } = wanted
  let query = db
    .selectFrom(selectNewest(db, workspaceId, span, wanted).as('asked'))
    .leftJoin('usage_entries as used', (join) =>
      join.on(
        sql<boolean>`(used.workspace_id, used.sequence, used.event_index) = (${workspaceId ?? sql.ref('asked.workspace_id')}, asked.sequence, asked.event_index)`,
      ),
    )
    .selectAll('asked')
    .select(usageColumnNames.map((column) => `used.${column}` as const))
    .select('used.tags')
    .orderBy('asked.sequence', 'desc')
    .orderBy('asked.event_index', 'desc')
    .limit(limit + 1)
  if (status !== undefined) query = query.where('asked.status', 'in', status)
  if (key !== undefined) query = query.where('asked.key_id', '=', key)
  if (surface !== undefined) query = query.where('asked.surface', '=', surface)
  if (reason !== undefined) query = query.where('asked.error_reason', '=', storedText(reason))
  if (model !== undefined)
    query = query.where((given) =>
      given.or([given('asked.model', '=', storedText(model)), given('asked.served_model', '=', storedText(model))]),
    )
  return query.execute()
}

const tokensOf = (row: Awaited<ReturnType<typeof findRows>>[number]): ListedRequest['tokens'] =>
  row.prompt_total === null
    ? null
    : Object.fromEntries(
        usageColumnNames.map((column) => [column, Number(row[column])] as const).filter(([, tokens]) => tokens > 0),
      )

const listed = (row: Awaited<ReturnType<typeof findRows>>[number]): ListedRequest => ({
  id: row.request_id,
  workspaceId: row.workspace_id,
  sequence: Number(row.sequence),
  eventIndex: row.event_index,
  keyId: row.key_id,
  surface: row.surface,
  model: restoredText(row.model),
  servedModel: row.served_model === null ? null : restoredText(row.served_model),
  stream: row.stream,
  status: row.status,
  errorStatus: row.error_status,
  errorReason: row.error_reason === null ? null : restoredText(row.error_reason),
  attempts: row.attempts,
  promptTokens: row.prompt_total === null ? null : Number(row.prompt_total),
  outputTokens: row.output_total === null ? null : Number(row.output_total),
  tokens: tokensOf(row),
  totalPicos: parsePicos(row.total),
  tags: restoredTags(row.tags),
  routedAt: row.routed_at,
  closedAt: row.closed_at,
  firstTokenMs: row.first_token_ms,
})

/** Where the rows end that a page has looked through; null if there are no more. */
const findScanned = async (
  db: ReadModels,
  workspaceId: string | null,
  span: StatementSpan,
  named: NamedRequest,
): Promise<Pick<RequestPage, 'next' | 'searchedTo'>> => {
  const last = await db
    .selectFrom(selectNewest(db, workspaceId, span, named).as('asked'))
    .select(['sequence', 'event_index', 'closed_at'])
    .offset(projectionLimits.requestsScannedMax - 1)
    .executeTakeFirst()
  if (last === undefined) return { next: null, searchedTo: null }
  const next = { sequence: Number(last.sequence), eventIndex: last.event_index, line: 0 }
  return { next, searchedTo: last.closed_at }
}

/**
 * The requests of a range that were routed and have ended, failed ones included, newest first. Null: of all workspaces. Must run in one
 * transaction, with the tables at `sequence`. A page looks through `projectionLimits.requestsScannedMax` requests, and so may have fewer than
 * were asked for, or none, while more are left.
 */
export const selectRequests = async (
  db: ReadModels,
  workspaceId: string | null,
  wanted: RequestQuery,
  sequence: number,
): Promise<RequestPage> => {
  const { from, to } = await findSpan(db, workspaceId, wanted, sequence)
  const span = { from, to: wanted.readOn === undefined ? to : minPosition(to, wanted.readOn) }
  const rows = (await findRows(db, workspaceId, span, wanted)).map(listed)
  const requests = rows.slice(0, wanted.limit)
  const last = requests.at(-1)
  if (rows.length > wanted.limit && last !== undefined) {
    const { sequence, eventIndex, closedAt } = last
    return { requests, next: { sequence, eventIndex, line: 0 }, searchedTo: closedAt }
  }
  return { requests, ...(await findScanned(db, workspaceId, span, wanted)) }
}
