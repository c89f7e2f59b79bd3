import type { CheckpointPosition } from '../../projections/checkpoint/queries.ts'
import type { ReadModel, Row } from '../../projections/schema/read-model.ts'
import type { TableDefinition } from '../../projections/schema/tables.ts'
import type { ModelVersions } from '../../projections/versions.ts'

/** By a batch of frames; rows are deleted before others are written. */
export interface TableChanges {
  readonly table: string
  readonly definition: TableDefinition
  readonly written: readonly Row[]
  /** Of the deleted rows only the key. */
  readonly deleted: readonly Row[]
}

export interface ProjectionBatch {
  readonly fromSequence: number
  readonly toSequence: number
  /** Id of the log's first frame, in the batch that has it. */
  readonly firstFrame: string | null
  /** Id of the batch's last frame. */
  readonly lastFrame: string
  readonly changes: readonly TableChanges[]
  /** Of the read models that made the changes. */
  readonly versions: ModelVersions
}

export interface TablesPosition extends CheckpointPosition {
  readonly versions: ModelVersions
}

export interface ProjectionStore {
  load(): Promise<TablesPosition>
  /**
   * In one transaction. False, and nothing written, when the checkpoint is no longer at `fromSequence` or a newer
   * program made a table. After a rejection other than `RefusedRows` the batch may or may not have been written.
   */
  apply(batch: ProjectionBatch): Promise<boolean>
  checkpoint(): Promise<number>
  versions(): Promise<ModelVersions>
}

interface RefillOptions {
  readonly signal: AbortSignal
  readonly onProgress: (sequence: number) => void
}

/** Swapped in at the live checkpoint; an interrupted one resumes. Rejects with `RebuildRunning` while another runs. */
export type RefillReadModels = (models: readonly ReadModel[], options: RefillOptions) => Promise<void>

export class RebuildRunning extends Error {
  override readonly name = 'RebuildRunning'
}

/** The tables will never take these rows: an event holds an impossible value. */
export class RefusedRows extends Error {
  override readonly name = 'RefusedRows'
}
