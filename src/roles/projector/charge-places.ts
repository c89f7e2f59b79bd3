import type { Applied } from '../../domain/ledger/ledger.ts'
import type { RowOf } from '../../projections/tables.ts'

/** Null for a request's own two events, whose places are in its row, and for events without a charge. */
const chargeOf = ({ event, movements, task }: Applied): string | null => {
  switch (event.type) {
    case 'AdjustmentPosted':
      return event.data.corrects
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

export const addChargePlace = (places: RowOf<'charge_places'>[], applied: Applied): void => {
  const charge_id = chargeOf(applied)
  const { event, sequence, index } = applied
  if (charge_id === null || !('workspaceId' in event.data)) return
  places.push({ charge_id, sequence, event_index: index, workspace_id: event.data.workspaceId })
}
