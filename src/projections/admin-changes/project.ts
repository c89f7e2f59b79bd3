import type { Applied } from '../../domain/ledger/ledger.ts'
import type { EventType } from '../../events/envelope.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedOrNull, storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { administrativeTypes } from './queries.ts'
import { adminChangeTables } from './table.ts'

const administrative: ReadonlySet<EventType> = new Set(administrativeTypes)

/** A secret's hash is of no use, and sheets are in a table of their own. */
const leftOut: ReadonlySet<string> = new Set(['sha256', 'sheet', 'video'])

const detailOf = (data: object): object =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !leftOut.has(name)))

/** Where one is repeated, it moves nothing. */
const movedOnce: ReadonlySet<EventType> = new Set(['WalletCredited', 'AdjustmentPosted'])

const isChange = ({ event: { type }, movements, isVoid }: Applied): boolean =>
  isVoid !== true && administrative.has(type) && (!movedOnce.has(type) || movements.length > 0)

const adminChangeRow = ({ event, sequence, index }: Applied): RowOf<'admin_changes'> => {
  const { id, type, data, subject, actor = null, time } = event
  return {
    sequence,
    event_index: index,
    type,
    workspace_id: 'workspaceId' in data ? data.workspaceId : null,
    subject: storedText(subject),
    actor: storedOrNull(actor),
    detail: JSON.stringify(detailOf(data)),
    time,
    event_id: storedText(id),
  }
}

export const adminChangesReadModel = defineReadModel({
  name: 'admin-changes',
  version: 4,
  tables: adminChangeTables,
  startBatch: () => {
    const rows: RowOf<'admin_changes'>[] = []
    return {
      addEvent: (applied) => {
        if (isChange(applied)) rows.push(adminChangeRow(applied))
      },
      finish: () => ({ written: { admin_changes: rows } }),
    }
  },
})
