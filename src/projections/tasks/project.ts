import type { Applied } from '../../domain/ledger/ledger.ts'
import type { Task } from '../../domain/video/task.ts'
import type { EventOf } from '../../events/envelope.ts'
import { toInstant, toInstantOrNull } from '../schema/columns.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedOrNull, storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { taskTables } from './table.ts'

type TaskTimes = 'queued_at' | 'deadline' | 'submitted_at' | 'started_at' | 'finished_at' | 'updated_at'

const taskTimes = (task: Task): Pick<RowOf<'tasks'>, TaskTimes> => ({
  queued_at: toInstant(task.queuedMs),
  deadline: toInstant(task.deadlineMs),
  submitted_at: toInstantOrNull(task.submittedMs),
  started_at: toInstantOrNull(task.startedMs),
  finished_at: toInstantOrNull(task.finishedMs),
  updated_at: toInstant(task.updatedMs),
})

const taskRow = (task: Task): RowOf<'tasks'> => ({
  task_id: task.taskId,
  workspace_id: task.workspaceId,
  key_id: task.keyId,
  surface: task.surface,
  kind: task.kind,
  model: storedText(task.model),
  provider: storedText(task.provider),
  upstream_model: storedText(task.upstreamModel),
  price_version: task.priceVersion,
  unit_price: task.unitPrice,
  units_max: task.unitsMax,
  held: task.held,
  external_task_id: storedOrNull(task.externalTaskId),
  request_digest: task.requestDigest,
  payload_digest: task.payloadDigest,
  vendor_task_id: storedOrNull(task.vendorTaskId),
  status: task.status,
  progress: task.progress,
  ...taskTimes(task),
  fail_reason: storedOrNull(task.failReason),
  vendor_code: task.vendorCode === null ? null : String(task.vendorCode),
  deduction: storedOrNull(task.deduction),
  source: task.source,
  lines: JSON.stringify(task.lines),
  total: task.total,
  results: JSON.stringify(task.results),
})

const externalTaskRow = (task: Task, externalTaskId: string): RowOf<'external_tasks'> => ({
  workspace_id: task.workspaceId,
  external_task_id: storedText(externalTaskId),
  task_id: task.taskId,
  request_digest: task.requestDigest,
})

const lateVerdictRow = (
  { sequence, index }: Applied,
  { type, data, time }: EventOf<'TaskSettled'> | EventOf<'LateVerdictSeen'>,
): RowOf<'late_verdicts'> => ({
  sequence,
  event_index: index,
  event_type: type,
  workspace_id: data.workspaceId,
  task_id: data.taskId,
  vendor_task_id: storedOrNull(data.vendorTaskId ?? null),
  outcome: data.outcome,
  deduction: storedOrNull(data.deduction ?? null),
  cost: 'cost' in data ? data.cost : data.total,
  fail_reason: storedOrNull(data.failReason ?? null),
  time,
})

export const tasksReadModel = defineReadModel({
  name: 'tasks',
  version: 1,
  tables: taskTables,
  startBatch: () => {
    const changed = new Map<string, Task>()
    /** By workspace and external id; the last task with the id counts. */
    const externalTasks = new Map<string, RowOf<'external_tasks'>>()
    const lateVerdicts: RowOf<'late_verdicts'>[] = []
    return {
      addEvent: (applied) => {
        const { event, task } = applied
        if (task !== null) changed.set(task.taskId, task)
        if (event.type === 'LateVerdictSeen' || (event.type === 'TaskSettled' && task === null))
          lateVerdicts.push(lateVerdictRow(applied, event))
        if (event.type !== 'HoldPlaced' || task === null || task.externalTaskId === null) return
        const row = externalTaskRow(task, task.externalTaskId)
        externalTasks.set(`${row.workspace_id} ${row.external_task_id}`, row)
      },
      finish: () => ({
        written: {
          tasks: Array.from(changed.values(), taskRow),
          external_tasks: [...externalTasks.values()],
          late_verdicts: lateVerdicts,
        },
      }),
    }
  },
})
