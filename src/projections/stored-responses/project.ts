import type { Applied } from '../../domain/ledger/ledger.ts'
import type { UsageRecorded } from '../../events/types.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { storedResponseTables } from './table.ts'

const storedResponseRows = ({ sequence }: Applied, data: UsageRecorded): readonly RowOf<'stored_responses'>[] =>
  data.storedResponseId === undefined
    ? []
    : [
        {
          response_id: data.storedResponseId,
          workspace_id: data.workspaceId,
          provider: storedText(data.provider),
          request_id: data.requestId,
          sequence,
        },
      ]

export const storedResponsesReadModel = defineReadModel({
  name: 'stored-responses',
  version: 1,
  tables: storedResponseTables,
  startBatch: () => {
    const rows: RowOf<'stored_responses'>[] = []
    return {
      addEvent: (applied) => {
        const closing = applied.closed?.closing
        if (closing?.type === 'UsageRecorded') rows.push(...storedResponseRows(applied, closing.data))
      },
      finish: () => ({ written: { stored_responses: rows } }),
    }
  },
})
