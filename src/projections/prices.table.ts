import type { PricePublished } from '../events/types.ts'
import type { FreeText, Instant, Int8, Json } from './columns.ts'

export interface PriceTable {
  readonly sequence: Int8
  readonly event_index: number
  readonly model: FreeText
  readonly version: string
  readonly effective_from: Instant
  readonly published: Json<PricePublished>
}
