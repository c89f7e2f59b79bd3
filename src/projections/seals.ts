import type { Selectable } from 'kysely'
import type { SealTable } from './seals.table.ts'
import { restoredText } from './stored-text.ts'
import type { ReadModels } from './tables.ts'

/** A checkpoint of the log as the tables have it: without its leaves, and as it was told; nobody has looked at its signature. */
export interface SealRecord {
  /** Frames sealed: those of the sequences 1 to this. */
  readonly size: number
  /** Of the frame that holds the checkpoint. */
  readonly sequence: number
  /** The tree before its leaves. */
  readonly from: number
  readonly root: Buffer
  readonly peaks: readonly Buffer[]
  /** The signed text. */
  readonly note: string
}

const sealOf = (row: Selectable<SealTable>): SealRecord => ({
  size: Number(row.size),
  sequence: Number(row.sequence),
  from: Number(row.from_size),
  root: Buffer.from(row.root, 'base64'),
  peaks: row.peaks.map((peak) => Buffer.from(peak, 'base64')),
  note: restoredText(row.note),
})

/** The first checkpoint that seals the frame of a sequence; undefined where none does (yet). */
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

/** The checkpoint that seals the most; undefined where there is none. */
export const findLastSeal = async (db: ReadModels): Promise<SealRecord | undefined> => {
  const row = await db.selectFrom('seals').selectAll().orderBy('size', 'desc').limit(1).executeTakeFirst()
  return row === undefined ? undefined : sealOf(row)
}
