import type { Applied } from '../../domain/ledger/ledger.ts'
import type { PricePublished } from '../../events/types.ts'
import { toInstant } from '../schema/columns.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { priceTables } from './table.ts'

const priceRow = ({ sequence, index }: Applied, published: PricePublished): RowOf<'prices'> => ({
  sequence,
  event_index: index,
  model: storedText(published.model),
  version: published.version,
  effective_from: toInstant(Date.parse(published.effectiveFrom)),
  published: JSON.stringify(published),
})

export const pricesReadModel = defineReadModel({
  name: 'prices',
  version: 1,
  tables: priceTables,
  startBatch: () => {
    const rows: RowOf<'prices'>[] = []
    return {
      addEvent: (applied) => {
        const { event } = applied
        if (event.type === 'PricePublished') rows.push(priceRow(applied, event.data))
      },
      finish: () => ({ written: { prices: rows } }),
    }
  },
})
