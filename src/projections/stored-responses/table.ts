import { freeText, int8, text } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const storedResponseTables = defineTables({
  stored_responses: {
    key: ['response_id'],
    write: 'keep',
    columns: { response_id: text(), workspace_id: text(), provider: freeText(), request_id: text(), sequence: int8() },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof storedResponseTables> {}
}
