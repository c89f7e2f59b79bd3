import { type Selectable, sql } from 'kysely'
import type { EventType } from '../events/envelope.ts'
import type { AdminChangeTable } from './admin-changes.table.ts'
import { restoredOrNull, restoredText, storedText } from './stored-text.ts'
import type { ReadModels } from './tables.ts'

/** What administration says, and what time does to it. */
export const administrativeTypes = [
  'WorkspaceOpened',
  'WorkspaceChanged',
  'KeyIssued',
  'KeyExpirySet',
  'KeyRevoked',
  'LimitsSet',
  'PlanPublished',
  'PlanSubscribed',
  'PlanRenewed',
  'PlanCancelled',
  'PlanEnded',
  'PricePublished',
  'AliasSet',
  'RouterSet',
  'WalletCredited',
  'CreditExpired',
] as const satisfies readonly EventType[]

/** One administrative event of the log. */
export interface AdminChange {
  readonly sequence: number
  readonly eventIndex: number
  readonly type: string
  readonly workspaceId: string | null
  readonly subject: string
  /** Null where nobody asked, as where time caused it. */
  readonly actor: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly time: Date
}

export type AdminChangeCursor = Pick<AdminChange, 'sequence' | 'eventIndex'>

export interface AdminChangeQuery {
  readonly workspaceId?: string | undefined
  readonly types?: readonly string[] | undefined
  readonly actor?: string | undefined
  /** Only what stands behind this sequence. */
  readonly after?: number | undefined
  /** Where the page before ended. */
  readonly readOn?: AdminChangeCursor | undefined
  readonly limit: number
}

const changeOf = (row: Selectable<AdminChangeTable>): AdminChange => ({
  sequence: Number(row.sequence),
  eventIndex: row.event_index,
  type: row.type,
  workspaceId: row.workspace_id,
  subject: restoredText(row.subject),
  actor: restoredOrNull(row.actor),
  detail: row.detail,
  time: row.time,
})

/** What was changed by whom, newest first. */
export const selectAdminChanges = async (
  db: ReadModels,
  { workspaceId, types, actor, after, readOn, limit }: AdminChangeQuery,
): Promise<readonly AdminChange[]> => {
  let query = db.selectFrom('admin_changes').selectAll().orderBy('sequence', 'desc').orderBy('event_index', 'desc')
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', workspaceId)
  if (types !== undefined) query = query.where('type', 'in', types)
  if (actor !== undefined) query = query.where('actor', '=', storedText(actor))
  if (after !== undefined) query = query.where('sequence', '>', BigInt(after))
  if (readOn !== undefined)
    query = query.where(sql<boolean>`(sequence, event_index) < (${BigInt(readOn.sequence)}, ${readOn.eventIndex})`)
  return (await query.limit(limit).execute()).map(changeOf)
}
