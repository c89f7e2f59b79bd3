import { type NotNull, sql } from 'kysely'
import { parsePicos } from '../schema/columns.ts'
import { restoredTags, restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'
import { type EntryPosition, isInSpan, type StatementSpan } from '../statements/queries.ts'
import { projectionLimits } from './limits.ts'

export interface ListedCharge {
  readonly kind: 'request' | 'task'
  /** Of the request or task. */
  readonly id: string
  /** Of the event that completed the request, or settled the task. */
  readonly sequence: number
  readonly eventIndex: number
  readonly keyId: string
  readonly surface: string
  readonly model: string
  readonly provider: string
  /** Null for a task, which has no fallbacks. */
  readonly level: number | null
  readonly priceVersion: string
  readonly source: string
  readonly outcome: string
  /** Tokens; null for a task. */
  readonly promptTokens: number | null
  readonly outputTokens: number | null
  readonly totalPicos: bigint
  /** Null for a task, and where there are none. */
  readonly tags: Readonly<Record<string, string>> | null
  readonly endUser: string | null
  readonly time: Date
}

export interface ChargeFilter {
  readonly model?: string | undefined
  readonly key?: string | undefined
  readonly surface?: string | undefined
  readonly tag?: { readonly name: string; readonly value: string } | undefined
  readonly endUser?: string | undefined
}

interface ChargeSearch extends ChargeFilter, StatementSpan {
  readonly workspaceId: string
  readonly limit: number
}

type PositionTable = 'usage_entries' | 'task_charges'

const selectNewest = (db: ReadModels, table: PositionTable, { workspaceId, key, ...span }: ChargeSearch) => {
  const query = db
    .selectFrom(table)
    .where('workspace_id', '=', workspaceId)
    .where(isInSpan(span))
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
  return key === undefined ? query : query.where('key_id', '=', key)
}

/** A task has neither. */
const isOfLabel = (table: PositionTable, { tag, endUser }: ChargeFilter) => {
  if (table === 'task_charges')
    return tag === undefined && endUser === undefined ? sql<boolean>`true` : sql<boolean>`false`
  return sql<boolean>`${tag === undefined ? sql`true` : sql`tags ->> ${tag.name} = ${storedText(tag.value)}`} and ${endUser === undefined ? sql`true` : sql`end_user = ${endUser}`}`
}

const selectPositions = (db: ReadModels, table: PositionTable, search: ChargeSearch) => {
  const { model, surface, limit } = search
  const columns = ['sequence', 'event_index', 'surface', 'model'] as const
  let query = db
    .selectFrom(
      selectNewest(db, table, search)
        .select(columns)
        .select(isOfLabel(table, search).as('is_of_label'))
        .limit(projectionLimits.chargesScannedMax)
        .as('newest'),
    )
    .select(['sequence', 'event_index'])
    .where('is_of_label', '=', true)
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
    .limit(limit + 1)
  if (model !== undefined) query = query.where('model', '=', storedText(model))
  if (surface !== undefined) query = query.where('surface', '=', surface)
  return query
}

const matchesPosition = ({ workspaceId }: ChargeSearch) =>
  sql<boolean>`(charge.workspace_id, charge.sequence, charge.event_index) = (${workspaceId}, wanted.sequence, wanted.event_index)`

const commonColumns = ['key_id', 'surface', 'model', 'provider', 'price_version', 'total'] as const

type CommonRow = Pick<
  StoredRow<'usage_entries'>,
  (typeof commonColumns)[number] | 'sequence' | 'event_index' | 'source'
>

const commonOf = (row: CommonRow) => ({
  sequence: Number(row.sequence),
  eventIndex: row.event_index,
  keyId: row.key_id,
  surface: row.surface,
  model: restoredText(row.model),
  provider: restoredText(row.provider),
  priceVersion: row.price_version,
  source: row.source,
  totalPicos: parsePicos(row.total),
})

const findRequests = async (db: ReadModels, search: ChargeSearch): Promise<readonly ListedCharge[]> => {
  const rows = await db
    .selectFrom(selectPositions(db, 'usage_entries', search).as('wanted'))
    .innerJoin('usage_entries as charge', (join) => join.on(matchesPosition(search)))
    .select(['wanted.sequence', 'wanted.event_index', 'request_id', 'level', 'source', 'outcome'])
    .select(['prompt_total', 'output_total', 'time', 'tags', 'end_user'])
    .select(commonColumns)
    .orderBy('wanted.sequence', 'desc')
    .orderBy('wanted.event_index', 'desc')
    .execute()
  return rows.map((row) => ({
    ...commonOf(row),
    kind: 'request',
    id: row.request_id,
    level: Number(row.level),
    outcome: row.outcome,
    promptTokens: Number(row.prompt_total),
    outputTokens: Number(row.output_total),
    tags: restoredTags(row.tags),
    endUser: row.end_user,
    time: row.time,
  }))
}

const findTasks = async (db: ReadModels, search: ChargeSearch): Promise<readonly ListedCharge[]> => {
  const rows = await db
    .selectFrom(selectPositions(db, 'task_charges', search).as('wanted'))
    .innerJoin('task_charges as charge', (join) => join.on(matchesPosition(search)))
    .innerJoin('tasks as task', 'task.task_id', 'charge.task_id')
    .select(['wanted.sequence', 'wanted.event_index', 'task.task_id', 'task.source', 'task.status', 'task.finished_at'])
    .select(commonColumns.map((column) => `task.${column}` as const))
    .orderBy('wanted.sequence', 'desc')
    .orderBy('wanted.event_index', 'desc')
    .$narrowType<{ source: NotNull; finished_at: NotNull }>() // The task is settled.
    .execute()
  return rows.map((row) => ({
    ...commonOf(row),
    kind: 'task',
    id: row.task_id,
    level: null,
    outcome: row.status,
    promptTokens: null,
    outputTokens: null,
    tags: null,
    endUser: null,
    time: row.finished_at,
  }))
}

const findLastScanned = async (
  db: ReadModels,
  table: PositionTable,
  search: ChargeSearch,
): Promise<EntryPosition | null> => {
  const row = await selectNewest(db, table, search)
    .select(['sequence', 'event_index'])
    .offset(projectionLimits.chargesScannedMax - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : { sequence: Number(row.sequence), eventIndex: row.event_index, line: 0 }
}

export const chargePosition = ({ sequence, eventIndex }: ListedCharge): EntryPosition => ({
  sequence,
  eventIndex,
  line: 0,
})

export interface FoundCharges {
  readonly charges: readonly ListedCharge[]
  /** The charges are complete from here on; null if none is left. */
  readonly from: EntryPosition | null
}

const findIn =
  (table: PositionTable, find: typeof findRequests) =>
  async (db: ReadModels, search: ChargeSearch): Promise<FoundCharges> => {
    const charges = await find(db, search)
    const more = charges[search.limit]
    if (more !== undefined) return { charges, from: chargePosition(more) }
    // If nothing was filtered out, nothing is left.
    const { model, surface, tag, endUser } = search
    const isFiltered = [model, surface, tag, endUser].some((filter) => filter !== undefined)
    return { charges, from: isFiltered ? await findLastScanned(db, table, search) : null }
  }

/** One more than requested, if there are more. */
export const chargeFinders = [findIn('usage_entries', findRequests), findIn('task_charges', findTasks)] as const
