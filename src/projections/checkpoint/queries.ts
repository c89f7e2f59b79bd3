import type { ReadModels, Snapshot } from '../schema/tables.ts'

export interface CheckpointPosition {
  readonly sequence: number
  /** Id of the log's first frame; null if no frame was applied yet. */
  readonly firstFrame: string | null
  /** The last frame applied, or one before it where an earlier release wrote since; null where it is not known. */
  readonly lastFrame: { readonly sequence: number; readonly id: string } | null
}

export const selectPosition = async (db: ReadModels | Snapshot): Promise<CheckpointPosition> => {
  const { sequence, first_frame, last_frame, last_frame_sequence } = await db
    .selectFrom('checkpoint')
    .selectAll()
    .executeTakeFirstOrThrow()
  return {
    sequence: Number(sequence),
    firstFrame: first_frame,
    lastFrame:
      last_frame === null || last_frame_sequence === null
        ? null
        : { sequence: Number(last_frame_sequence), id: last_frame },
  }
}

export interface AtSequence<T> {
  readonly sequence: number
  readonly value: T
}

/** Throws for tables that are not made from the log of this process. */
export type CheckPosition = (position: CheckpointPosition) => Promise<void>

export const atCheckpoint = async <T>(
  db: ReadModels,
  read: (trx: Snapshot, sequence: number) => Promise<T>,
  checkPosition?: CheckPosition,
): Promise<AtSequence<T>> => {
  const { position, value } = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      // First: a swap of rebuilt tables waits for readers of the checkpoint, so names keep meaning the same tables.
      const position = await selectPosition(trx)
      return { position, value: await read(trx, position.sequence) }
    })
  await checkPosition?.(position)
  return { sequence: position.sequence, value }
}
