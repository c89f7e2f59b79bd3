import type { Task, TaskStatus } from '../../domain/video/task.ts'
import type { TaskOrder } from '../../events/types.ts'
import { decimal, freeText, instant, int2, int4, int8, json, nullable, text, textOf } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const taskTables = defineTables({
  tasks: {
    key: ['task_id'],
    write: 'replace',
    columns: {
      task_id: text(),
      workspace_id: text(),
      key_id: text(),
      surface: textOf<TaskOrder['surface']>(),
      kind: textOf<TaskOrder['kind']>(),
      model: freeText(),
      provider: freeText(),
      upstream_model: freeText(),
      price_version: text(),
      unit_price: text(),
      units_max: text(),
      held: decimal(),
      external_task_id: nullable(freeText()),
      request_digest: text(),
      payload_digest: text(),
      vendor_task_id: nullable(freeText()),
      status: textOf<TaskStatus>(),
      progress: int2(),
      queued_at: instant(),
      deadline: instant(),
      submitted_at: nullable(instant()),
      started_at: nullable(instant()),
      finished_at: nullable(instant()),
      updated_at: instant(),
      fail_reason: nullable(freeText()),
      vendor_code: nullable(decimal()),
      deduction: nullable(freeText()),
      source: textOf<Task['source']>(),
      lines: json<Task['lines']>(),
      total: decimal(),
      results: json<Task['results']>(),
    },
  },
  external_tasks: {
    key: ['workspace_id', 'external_task_id'],
    write: 'replace',
    columns: { workspace_id: text(), external_task_id: freeText(), task_id: text(), request_digest: text() },
  },
  late_verdicts: {
    key: ['sequence', 'event_index'],
    write: 'insert',
    columns: {
      sequence: int8(),
      event_index: int4(),
      event_type: textOf<'TaskSettled' | 'LateVerdictSeen'>(),
      workspace_id: text(),
      task_id: text(),
      vendor_task_id: nullable(freeText()),
      outcome: textOf<'SUCCESS' | 'FAILURE'>(),
      deduction: nullable(freeText()),
      cost: decimal(),
      fail_reason: nullable(freeText()),
      time: instant(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof taskTables> {}
}
