import { freeText, instant, int4, int8, json, nullable, text } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const adminChangeTables = defineTables({
  admin_changes: {
    key: ['sequence', 'event_index'],
    write: 'insert',
    columns: {
      sequence: int8(),
      event_index: int4(),
      type: text(),
      workspace_id: nullable(text()),
      subject: freeText(),
      actor: nullable(freeText()),
      /** The event's data without long and sensitive fields. */
      detail: json<Readonly<Record<string, unknown>>>(),
      time: instant(),
      event_id: nullable(freeText()),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof adminChangeTables> {}
}
