import type { ReadModels, Snapshot } from './tables.ts'

/** What was read, and the sequence of the log at which the tables stood then. */
export interface AtSequence<T> {
  readonly sequence: number
  readonly value: T
}

/** Reads one state of the tables, however many queries that takes. */
export const atCheckpoint = <T>(
  db: ReadModels,
  read: (trx: Snapshot, sequence: number) => Promise<T>,
): Promise<AtSequence<T>> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      // First: a swap of rebuilt tables waits for whoever has read the checkpoint, so names mean the same tables until the end.
      const checkpoint = await trx.selectFrom('checkpoint').select('sequence').executeTakeFirstOrThrow()
      const sequence = Number(checkpoint.sequence)
      return { sequence, value: await read(trx, sequence) }
    })
