import type { ColumnType } from 'kysely'
import type { Int8 } from './columns.ts'

export interface CheckpointTable {
  readonly sequence: Int8
  /** Id of the log's first frame, `<writer>:<counter>`; null before any was applied. */
  readonly first_frame: string | null
  /** The positions of events are complete up to here; below `sequence` if an earlier release wrote since. */
  readonly places_to: Int8
}

export interface WriterTable {
  readonly writer: string
  readonly low: Int8
  readonly above: ColumnType<readonly bigint[], readonly number[], never>
}
