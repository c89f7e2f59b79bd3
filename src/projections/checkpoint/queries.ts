import type { ReadModels, Snapshot } from '../schema/tables.ts'

export interface AtSequence<T> {
  readonly sequence: number
  readonly value: T
}

export const atCheckpoint = <T>(
  db: ReadModels,
  read: (trx: Snapshot, sequence: number) => Promise<T>,
): Promise<AtSequence<T>> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      // First: a swap of rebuilt tables waits for readers of the checkpoint, so names keep meaning the same tables.
      const checkpoint = await trx.selectFrom('checkpoint').select('sequence').executeTakeFirstOrThrow()
      const sequence = Number(checkpoint.sequence)
      return { sequence, value: await read(trx, sequence) }
    })
