import { restoredText } from '../schema/stored-text.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'

/** A checkpoint of the log, without its leaves; its signature is not verified. */
export interface SealRecord {
  readonly size: number
  readonly sequence: number
  /** The size of the tree before its leaves. */
  readonly from: number
  readonly root: Buffer
  readonly peaks: readonly Buffer[]
  readonly note: string
}

const sealOf = (row: StoredRow<'seals'>): SealRecord => ({
  size: Number(row.size),
  sequence: Number(row.sequence),
  from: Number(row.from_size),
  root: Buffer.from(row.root, 'base64'),
  peaks: row.peaks.map((peak) => Buffer.from(peak, 'base64')),
  note: restoredText(row.note),
})

/** The first checkpoint over the frame; undefined if none seals it (yet). */
export const findSealFor = async (db: ReadModels, sequence: number): Promise<SealRecord | undefined> => {
  const row = await db
    .selectFrom('seals')
    .selectAll()
    .where('size', '>=', BigInt(sequence))
    .orderBy('size')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : sealOf(row)
}

export const findLastSeal = async (db: ReadModels): Promise<SealRecord | undefined> => {
  const row = await db.selectFrom('seals').selectAll().orderBy('size', 'desc').limit(1).executeTakeFirst()
  return row === undefined ? undefined : sealOf(row)
}
