import { freeText, int8, json, text } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const sealTables = defineTables({
  seals: {
    key: ['size'],
    write: 'keep',
    columns: {
      size: int8(),
      /** Of the frame that holds the checkpoint, which is after all frames that it seals. */
      sequence: int8(),
      from_size: int8(),
      /** Base64, as are the peaks. */
      root: text(),
      /** Of the tree over the first `from_size` frames. */
      peaks: json<readonly string[]>(),
      note: freeText(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof sealTables> {}
}
