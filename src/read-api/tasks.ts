import { parseInstant } from '../domain/instant.ts'
import type { Task } from '../domain/video/task.ts'
import { type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { pageBody, textsCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { invalidParameter, readQuery } from '../http/query.ts'
import type { TaskCursor } from '../projections/tasks/queries.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerTasksResponse } from './responses.types.ts'

const cursor = textsCursor('tasks')

export const tasksParameters = { cursor: cursor.parameter, limit: parameters.limitParameter }

const placeIn = ([at = '', taskId, ...others]: readonly string[]): TaskCursor => {
  const queuedAt = parseInstant(at)
  if (
    queuedAt === null ||
    taskId === undefined ||
    parameters.keyParameter.read(taskId) === undefined ||
    others.length > 0
  )
    throw invalidParameter('cursor', cursor.form)
  return { queuedMs: queuedAt.getTime(), taskId }
}

const timeOf = (ms: number): string => new Date(ms).toISOString()
const timeOrNull = (ms: number | null): string | null => (ms === null ? null : timeOf(ms))

const toTaskResponse = (task: Task): LedgerTasksResponse['data'][number] => ({
  id: task.taskId,
  kind: task.kind,
  model: task.model,
  key: task.keyId,
  surface: task.surface,
  status: task.status,
  progress: task.progress,
  held: task.held,
  total: task.total,
  source: task.source,
  queued_at: timeOf(task.queuedMs),
  submitted_at: timeOrNull(task.submittedMs),
  finished_at: timeOrNull(task.finishedMs),
  deadline: timeOf(task.deadlineMs),
  external_task_id: task.externalTaskId,
  fail_reason: task.failReason,
})

const cursorOf = ({ queuedMs, taskId }: Task): string => cursor.text([timeOf(queuedMs), taskId])

export const showTasks =
  ({ readModels }: { readonly readModels: EdgeReadModels }): HttpMiddleware =>
  async (ctx) => {
    const { cursor: place, limit = httpLimits.pageRows } = readQuery(ctx, tasksParameters)
    const wanted = { after: place === undefined ? undefined : placeIn(place), limit: limit + 1 }
    const tasks = await readTables(ctx, readModels.listTasks(readableWorkspace(ctx), wanted))
    ctx.body = { object: 'list', ...pageBody(tasks, limit, toTaskResponse, cursorOf) } satisfies LedgerTasksResponse
  }
