import { utcDayAt } from '../domain/instant.ts'
import { formatUsd } from '../domain/money.ts'
import { parsePicos } from './columns.ts'
import type { ReadModels } from './tables.ts'

/** What a request that ended was charged, in USD; null where it was free. */
export interface RequestEnd {
  readonly chargedUsd: string | null
  /** The UTC day on which it was routed, for which its key spent. */
  readonly day: string
}

/** Undefined for a request that has not ended, as far as the tables know. */
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
