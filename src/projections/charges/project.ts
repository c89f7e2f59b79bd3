import type { Applied } from '../../domain/ledger/ledger.ts'
import type { Task } from '../../domain/video/task.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { chargeTables } from './table.ts'

/** Null for a request's own two events, whose places are in its row, and for events without a charge. */
const chargeOf = ({ event, movements, task }: Applied): string | null => {
  switch (event.type) {
    case 'AdjustmentPosted':
      return event.data.corrects === undefined ? null : storedText(event.data.corrects)
    case 'HoldPlaced':
      return event.data.task === undefined ? null : event.data.holdId
    case 'HoldReleased':
      // One that ended nothing may be of a task that had ended.
      return task !== null || movements.length === 0 ? event.data.holdId : null
    case 'TaskSubmitted':
    case 'TaskProgressed':
    case 'TaskSettled':
    case 'LateVerdictSeen':
      return event.data.taskId
    default:
      return null
  }
}

const placeRow = (applied: Applied): RowOf<'charge_places'> | null => {
  const charge_id = chargeOf(applied)
  const { event, sequence, index } = applied
  if (charge_id === null || !('workspaceId' in event.data)) return null
  return { charge_id, sequence, event_index: index, workspace_id: event.data.workspaceId }
}

const taskChargeRow = ({ sequence, index }: Applied, task: Task): RowOf<'task_charges'> => ({
  workspace_id: task.workspaceId,
  sequence,
  event_index: index,
  task_id: task.taskId,
  key_id: task.keyId,
  surface: task.surface,
  model: storedText(task.model),
})

export const chargesReadModel = defineReadModel({
  name: 'charges',
  version: 1,
  tables: chargeTables,
  startBatch: () => {
    const places: RowOf<'charge_places'>[] = []
    const taskCharges: RowOf<'task_charges'>[] = []
    return {
      addEvent: (applied) => {
        const { event, task } = applied
        const place = placeRow(applied)
        if (place !== null) places.push(place)
        if (event.type === 'TaskSettled' && task?.status === 'SUCCESS') taskCharges.push(taskChargeRow(applied, task))
      },
      finish: () => ({ written: { charge_places: places, task_charges: taskCharges } }),
    }
  },
})
