import { utcDayAt } from '../../domain/instant.ts'
import { formatUsd } from '../../domain/money.ts'
import { parsePicos } from '../schema/columns.ts'
import type { ReadModels } from '../schema/tables.ts'

/** In USD; null if it was free. */
export interface RequestEnd {
  readonly chargedUsd: string | null
  /** The UTC day on which it was routed, to which its key's spending counts. */
  readonly day: string
}

/** Undefined for a request that has not ended, as far as the tables are updated. */
export const findRequestEnd = async (db: ReadModels, requestId: string): Promise<RequestEnd | undefined> => {
  const row = await db
    .selectFrom('requests')
    .select(['total', 'routed_at'])
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const totalPicos = parsePicos(row.total)
  return { chargedUsd: totalPicos === 0n ? null : formatUsd(totalPicos), day: utcDayAt(row.routed_at.getTime()) }
}
