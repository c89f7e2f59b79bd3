import type { Applied } from '../../domain/ledger/ledger.ts'
import type { EventType } from '../../events/envelope.ts'
import { administrativeTypes } from '../../projections/admin-changes.ts'
import { storedOrNull, storedText } from '../../projections/stored-text.ts'
import type { RowOf } from '../../projections/tables.ts'

const administrative: ReadonlySet<EventType> = new Set(administrativeTypes)

/** A secret's hash is of no use, and sheets are in a table of their own. */
const leftOut: ReadonlySet<string> = new Set(['sha256', 'sheet', 'video'])

const detailOf = (data: object): object =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !leftOut.has(name)))

/** One row for an administrative event; none for a repeated credit, which moved nothing. */
export const adminChangeRows = ({ event, sequence, index, movements }: Applied): readonly RowOf<'admin_changes'>[] => {
  const { type, data, subject, actor = null, time } = event
  if (!administrative.has(type) || (type === 'WalletCredited' && movements.length === 0)) return []
  return [
    {
      sequence,
      event_index: index,
      type,
      workspace_id: 'workspaceId' in data ? data.workspaceId : null,
      subject: storedText(subject),
      actor: storedOrNull(actor),
      detail: JSON.stringify(detailOf(data)),
      time,
    },
  ]
}
