import type { RouterSet } from '../events/types.ts'
import type { FreeText, Json } from './columns.ts'

/** Overrides of the configuration; null if the override was removed. */
export interface AliasTable {
  readonly alias: FreeText
  readonly model: FreeText | null
}

export interface RouterTable {
  readonly router: string
  readonly candidates: Json<RouterSet['candidates']>
  readonly candidate_order: RouterSet['order']
}
