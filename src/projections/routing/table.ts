import type { RouterSet } from '../../events/types.ts'
import { freeText, json, nullable, text, textOf } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

/** Overrides of the configuration; null if the override was removed. */
export const routingTables = defineTables({
  aliases: { key: ['alias'], write: 'replace', columns: { alias: freeText(), model: nullable(freeText()) } },
  routers: {
    key: ['router'],
    write: 'replace',
    columns: {
      router: text(),
      candidates: json<RouterSet['candidates']>(),
      candidate_order: textOf<RouterSet['order']>(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof routingTables> {}
}
