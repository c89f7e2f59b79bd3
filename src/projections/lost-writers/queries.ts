import { sql } from 'kysely'
import { isCorrected } from '../charges/corrected.ts'
import { parsePicos } from '../schema/columns.ts'
import type { ReadModels } from '../schema/tables.ts'

/** An answer is passed on within this time of its bill. */
export const deliveryMs = 60_000

interface UnknownDelivery {
  readonly workspaceId: string
  readonly requestId: string
  readonly keyId: string
  readonly totalPicos: bigint
  readonly time: Date
  /** When the edge appended its last event. */
  readonly edgeSeenAt: Date
  /** An adjustment corrects the charge. */
  readonly isSettled: boolean
}

interface UnknownDeliveryQuery {
  /** Null: every workspace. */
  readonly workspaceId: string | null
  readonly requestId?: string
  readonly limit: number
}

/**
 * Charges of requests whose edge ended without a shutdown about when they were charged, newest first. A writer that
 * appended after its allowance expired was alive.
 */
export const selectUnknownDeliveries = async (
  db: ReadModels,
  { workspaceId, requestId, limit }: UnknownDeliveryQuery,
): Promise<readonly UnknownDelivery[]> => {
  const earliest = sql<Date>`edge.seen_at - ${`${deliveryMs} milliseconds`}::interval`
  let query = db
    .selectFrom('lost_writers as lost')
    .innerJoin('writer_activity as edge', 'edge.writer', 'lost.writer')
    .innerJoin('usage_entries as bill', 'bill.edge', 'lost.writer')
    .select(['bill.workspace_id', 'bill.request_id', 'bill.key_id', 'bill.total', 'bill.time', 'edge.seen_at'])
    .select(isCorrected('bill.workspace_id', 'bill.request_id').as('is_settled'))
    .whereRef('edge.seen_at', '<', 'lost.lost_at')
    .where(sql<boolean>`bill.time between ${earliest} and lost.lost_at`)
    .where('bill.total', '>', '0')
    .orderBy('bill.sequence', 'desc')
    .orderBy('bill.event_index', 'desc')
    .limit(limit)
  if (workspaceId !== null) query = query.where('bill.workspace_id', '=', workspaceId)
  if (requestId !== undefined) query = query.where('bill.request_id', '=', requestId)
  return (await query.execute()).map((row) => ({
    workspaceId: row.workspace_id,
    requestId: row.request_id,
    keyId: row.key_id,
    totalPicos: parsePicos(row.total),
    time: row.time,
    edgeSeenAt: row.seen_at,
    isSettled: row.is_settled,
  }))
}
