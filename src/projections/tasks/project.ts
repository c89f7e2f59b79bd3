import type { Task } from '../../domain/video/task.ts'
import { defineReadModel } from '../schema/read-model.ts'
import type { RowOf } from '../schema/tables.ts'
import { externalTaskRow, lateVerdictRow, taskRow } from './rows.ts'
import { taskTables } from './table.ts'

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
