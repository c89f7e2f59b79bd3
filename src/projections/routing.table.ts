import type { RouterSet } from '../events/types.ts'
import type { FreeText, Json } from './columns.ts'

/** What was set over the configuration's; null where that counts again. */
export interface AliasTable {
  readonly alias: FreeText
  readonly model: FreeText | null
}

export interface RouterTable {
  readonly router: string
  readonly candidates: Json<RouterSet['candidates']>
  readonly candidate_order: RouterSet['order']
}
