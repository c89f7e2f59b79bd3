import type { PricePublished } from '../../events/types.ts'
import { freeText, instant, int4, int8, json, text } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const priceTables = defineTables({
  prices: {
    key: ['sequence', 'event_index'],
    write: 'insert',
    columns: {
      sequence: int8(),
      event_index: int4(),
      model: freeText(),
      version: text(),
      effective_from: instant(),
      published: json<PricePublished>(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof priceTables> {}
}
