import type { TaskOrder } from '../../events/types.ts'
import { freeText, int4, int8, text, textOf } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const chargeTables = defineTables({
  charge_places: {
    key: ['charge_id', 'sequence', 'event_index'],
    write: 'insert',
    columns: { charge_id: text(), sequence: int8(), event_index: int4(), workspace_id: text() },
  },
  task_charges: {
    key: ['workspace_id', 'sequence', 'event_index'],
    write: 'insert',
    columns: {
      workspace_id: text(),
      sequence: int8(),
      event_index: int4(),
      task_id: text(),
      key_id: text(),
      surface: textOf<TaskOrder['surface']>(),
      model: freeText(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof chargeTables> {}
}
