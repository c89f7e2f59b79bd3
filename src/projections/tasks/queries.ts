import { sql } from 'kysely'
import { formatUsd } from '../../domain/money.ts'
import { videoKinds } from '../../domain/video/request.ts'
import type { Task } from '../../domain/video/task.ts'
import { projectionLimits } from '../charges/limits.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredOrNull, restoredText } from '../schema/stored-text.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'

const msOrNull = (instant: Date | null): number | null => (instant === null ? null : instant.getTime())
const usdOf = (amount: string): string => formatUsd(parsePicos(amount))

type Row = StoredRow<'tasks'>

const orderOf = (row: Row) => ({
  keyId: row.key_id,
  surface: row.surface,
  kind: row.kind,
  model: restoredText(row.model),
  provider: restoredText(row.provider),
  upstreamModel: restoredText(row.upstream_model),
  priceVersion: row.price_version,
  unitPrice: row.unit_price,
  unitsMax: row.units_max,
  externalTaskId: restoredOrNull(row.external_task_id),
  requestDigest: row.request_digest,
  payloadDigest: row.payload_digest,
})

const stateOf = (row: Row) => ({
  vendorTaskId: restoredOrNull(row.vendor_task_id),
  status: row.status,
  progress: row.progress,
  submittedMs: msOrNull(row.submitted_at),
  startedMs: msOrNull(row.started_at),
  finishedMs: msOrNull(row.finished_at),
  updatedMs: row.updated_at.getTime(),
})

const endOf = (row: Row) => ({
  failReason: restoredOrNull(row.fail_reason),
  vendorCode: row.vendor_code === null ? null : Number(row.vendor_code),
  deduction: restoredOrNull(row.deduction),
  source: row.source,
  lines: row.lines,
  total: usdOf(row.total),
  results: row.results,
})

const taskFromRow = (row: Row): Task => ({
  taskId: row.task_id,
  workspaceId: row.workspace_id,
  held: usdOf(row.held),
  queuedMs: row.queued_at.getTime(),
  deadlineMs: row.deadline.getTime(),
  ...orderOf(row),
  ...stateOf(row),
  ...endOf(row),
})

/** The events of a task, as an index of the log: their frames. */
interface TaskIndex {
  readonly taskId: string
  readonly sequences: readonly number[]
}

const selectIndex = (db: ReadModels, workspaceId: string) =>
  db
    .selectFrom('tasks')
    .select('task_id')
    .select(
      sql<readonly bigint[]>`array(
        select sequence from charge_places
        where charge_id = task_id and charge_places.workspace_id = tasks.workspace_id
        order by sequence limit ${projectionLimits.chargePlacesMax}
      )`.as('sequences'),
    )
    .where('workspace_id', '=', workspaceId)

const indexFromRow = (row: { readonly task_id: string; readonly sequences: readonly bigint[] }): TaskIndex => ({
  taskId: row.task_id,
  sequences: row.sequences.map(Number),
})

/** Null for a task that the tables do not have (yet), and for another workspace's. */
export const findTask = async (db: ReadModels, workspaceId: string, taskId: string): Promise<TaskIndex | null> => {
  const row = await selectIndex(db, workspaceId).where('task_id', '=', taskId).executeTakeFirst()
  return row === undefined ? null : indexFromRow(row)
}

export interface TaskPage {
  /** From 1. */
  readonly page: number
  readonly pageSize: number
}

/** Newest first. */
export const selectTasks = async (
  db: ReadModels,
  workspaceId: string,
  kind: Task['kind'],
  { page, pageSize }: TaskPage,
): Promise<readonly TaskIndex[]> => {
  const rows = await selectIndex(db, workspaceId)
    .where('kind', '=', kind)
    .orderBy('queued_at', 'desc')
    .orderBy('task_id', 'desc')
    .offset((page - 1) * pageSize)
    .limit(pageSize)
    .execute()
  return rows.map(indexFromRow)
}

export type TaskCursor = Pick<Task, 'queuedMs' | 'taskId'>

export interface TaskQuery {
  readonly after?: TaskCursor | undefined
  readonly limit: number
}

const newestFirst = (one: Task, other: Task): number =>
  other.queuedMs - one.queuedMs || (one.taskId < other.taskId ? 1 : -1)

/** Newest first. */
export const selectAllTasks = async (
  db: ReadModels,
  workspaceId: string,
  { after, limit }: TaskQuery,
): Promise<readonly Task[]> => {
  const found: Task[] = []
  for (const kind of videoKinds) {
    let query = db
      .selectFrom('tasks')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('kind', '=', kind)
      .orderBy('queued_at', 'desc')
      .orderBy('task_id', 'desc')
      .limit(limit)
    if (after !== undefined)
      query = query.where(sql<boolean>`(queued_at, task_id) < (${new Date(after.queuedMs)}, ${after.taskId})`)
    found.push(...(await query.execute()).map(taskFromRow))
  }
  return found.toSorted(newestFirst).slice(0, limit)
}
