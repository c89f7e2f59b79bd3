import { sql } from 'kysely'
import { applyPeriod, type PeriodFact, type Periods } from '../../domain/ledger/periods.ts'
import type { EventType } from '../../events/envelope.ts'
import { restoredOrNull, restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'

/** Administrative events, and those that the passage of time causes. */
export const administrativeTypes = [
  'WorkspaceOpened',
  'WorkspaceChanged',
  'WorkspaceSuspended',
  'WorkspaceResumed',
  'WorkspaceClosed',
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
  'AdjustmentPosted',
  'AdjustmentProposed',
  'AdjustmentApproved',
  'AdjustmentRejected',
  'CreditExpired',
  'AlertRuleSet',
  'AlertRuleRemoved',
  'AlertRaised',
  'AlertDelivered',
  'AlertDeliveryFailed',
  'CallbackFailed',
  'LogRolledBack',
  'LogFormatRaised',
  'PeriodCutOff',
  'PeriodClosed',
  'PeriodReopened',
  'InvoiceIssued',
  'InvoiceReconciled',
] as const satisfies readonly EventType[]

export interface AdminChange {
  readonly sequence: number
  readonly eventIndex: number
  readonly eventId: string | null
  readonly type: string
  readonly workspaceId: string | null
  readonly subject: string
  /** Null if no one asked for it, such as an expiry. */
  readonly actor: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly time: Date
}

type AdminChangeCursor = Pick<AdminChange, 'sequence' | 'eventIndex'>

export interface AdminChangeQuery {
  readonly workspaceId?: string | undefined
  readonly types?: readonly string[] | undefined
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  /** Of invoices, those of this month. */
  readonly month?: string | undefined
  readonly after?: number | undefined
  readonly before?: number | undefined
  readonly readOn?: AdminChangeCursor | undefined
  readonly limit: number
}

/** The months that the tables know as closed, or as being closed. */
export const selectPeriods = async (db: ReadModels): Promise<Periods> => {
  const rows = await db
    .selectFrom('admin_changes')
    .select(['type', 'detail', 'sequence'])
    .where(sql<boolean>`type in ('PeriodCutOff', 'PeriodClosed', 'PeriodReopened')`)
    .orderBy('sequence')
    .orderBy('event_index')
    .execute()
  const periods: Periods = new Map()
  for (const { type, detail, sequence } of rows) {
    const fact: unknown = { type, data: detail }
    applyPeriod(periods, fact as PeriodFact, Number(sequence))
  }
  return periods
}

const changeOf = (row: StoredRow<'admin_changes'>): AdminChange => ({
  sequence: Number(row.sequence),
  eventIndex: row.event_index,
  eventId: restoredOrNull(row.event_id),
  type: row.type,
  workspaceId: row.workspace_id,
  subject: restoredText(row.subject),
  actor: restoredOrNull(row.actor),
  detail: row.detail,
  time: row.time,
})

/** Newest first. */
export const selectAdminChanges = async (
  db: ReadModels,
  { workspaceId, types, actor, subject, month, after, before, readOn, limit }: AdminChangeQuery,
): Promise<readonly AdminChange[]> => {
  let query = db.selectFrom('admin_changes').selectAll().orderBy('sequence', 'desc').orderBy('event_index', 'desc')
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', workspaceId)
  if (types !== undefined) query = query.where('type', 'in', types)
  // As many as there are videos: among the others they would be in the way. As the indexes have it, without a parameter.
  else query = query.where(sql<boolean>`type <> 'CallbackFailed'`)
  if (actor !== undefined) query = query.where('actor', '=', storedText(actor))
  if (subject !== undefined) query = query.where('subject', '=', storedText(subject))
  // As text: PostgreSQL cannot read a member of JSON that has U+0000 anywhere. Within texts of it quotes are escaped.
  if (month !== undefined) query = query.where(sql<boolean>`detail::text like ${`%"month":"${month}"%`}`)
  if (after !== undefined) query = query.where('sequence', '>', BigInt(after))
  if (before !== undefined) query = query.where('sequence', '<', BigInt(before))
  if (readOn !== undefined)
    query = query.where(sql<boolean>`(sequence, event_index) < (${BigInt(readOn.sequence)}, ${readOn.eventIndex})`)
  return (await query.limit(limit).execute()).map(changeOf)
}
