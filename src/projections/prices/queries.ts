import type { PricePublished } from '../../events/types.ts'
import type { ReadModels } from '../schema/tables.ts'

/** In the order of the log. */
export const selectPrices = async (db: ReadModels): Promise<readonly PricePublished[]> => {
  const rows = await db.selectFrom('prices').select('published').orderBy('sequence').orderBy('event_index').execute()
  return rows.map(({ published }) => published)
}
