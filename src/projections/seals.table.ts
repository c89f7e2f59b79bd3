import type { FreeText, Int8, Json } from './columns.ts'

/** Each stands behind all that it seals. */
export interface SealTable {
  /** Frames sealed: those of the sequences 1 to this. */
  readonly size: Int8
  /** Of the frame that holds the checkpoint. */
  readonly sequence: Int8
  /** The size of the checkpoint before it. */
  readonly from_size: Int8
  /** Base64, as are the peaks. */
  readonly root: string
  /** Of the tree over the first `from_size` frames. */
  readonly peaks: Json<readonly string[]>
  readonly note: FreeText
}
