import type { FreeText, Int8, Json } from './columns.ts'

export interface SealTable {
  readonly size: Int8
  /** Of the frame that holds the checkpoint, which is after all frames that it seals. */
  readonly sequence: Int8
  readonly from_size: Int8
  /** Base64, as are the peaks. */
  readonly root: string
  /** Of the tree over the first `from_size` frames. */
  readonly peaks: Json<readonly string[]>
  readonly note: FreeText
}
