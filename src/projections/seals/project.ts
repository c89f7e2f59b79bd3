import { type Applied, isSealOfLog } from '../../domain/ledger/ledger.ts'
import type { CheckpointSealed } from '../../events/types.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { sealTables } from './table.ts'

/** Without the leaves, which are in the log. */
const sealRow = ({ sequence }: Applied, data: CheckpointSealed): RowOf<'seals'> => ({
  size: data.size,
  sequence,
  from_size: data.from,
  root: data.root,
  peaks: JSON.stringify(data.peaks),
  note: storedText(data.note),
})

export const sealsReadModel = defineReadModel({
  name: 'seals',
  version: 1,
  tables: sealTables,
  startBatch: () => {
    const rows: RowOf<'seals'>[] = []
    return {
      addEvent: (applied) => {
        const { event, sequence } = applied
        if (event.type === 'CheckpointSealed' && isSealOfLog(event, sequence)) rows.push(sealRow(applied, event.data))
      },
      finish: () => ({ written: { seals: rows } }),
    }
  },
})
