import { type Selectable, sql } from 'kysely'
import { limits } from '../limits.ts'
import { picosOf } from './columns.ts'
import { earlierOf, findSpan, type StatementPlace, type StatementRange, type StatementSpan } from './statement.ts'
import { restoredText, storedText } from './stored-text.ts'
import type { ReadModels } from './tables.ts'
import type { UsageEntryTable } from './usage.table.ts'

/** What one request cost, in short. */
export interface ListedCharge {
  readonly requestId: string
  /** Where the event stands that completed the request. */
  readonly sequence: number
  readonly eventIndex: number
  readonly keyId: string
  readonly surface: string
  readonly model: string
  readonly provider: string
  readonly level: number
  readonly priceVersion: string
  readonly source: string
  readonly outcome: string
  readonly promptTokens: number
  readonly outputTokens: number
  readonly totalPicos: bigint
  /** Of the bill. */
  readonly time: Date
}

interface ChargeFilter {
  readonly model?: string | undefined
  readonly key?: string | undefined
  readonly surface?: string | undefined
  readonly limit: number
}

export interface ChargesWanted extends ChargeFilter, StatementRange {
  /** Where the page before ended. */
  readonly readOn?: StatementPlace | undefined
}

export interface ChargePage {
  readonly charges: readonly ListedCharge[]
  /** What is left to be read ends before this place; null where nothing is left. */
  readonly next: StatementPlace | null
}

const shown = [
  ...(['request_id', 'sequence', 'event_index', 'key_id', 'surface', 'model', 'provider', 'level'] as const),
  ...(['price_version', 'source', 'outcome', 'prompt_total', 'output_total', 'total', 'time'] as const),
] as const

const chargeOf = (row: Pick<Selectable<UsageEntryTable>, (typeof shown)[number]>): ListedCharge => ({
  requestId: row.request_id,
  sequence: Number(row.sequence),
  eventIndex: row.event_index,
  keyId: row.key_id,
  surface: row.surface,
  model: restoredText(row.model),
  provider: restoredText(row.provider),
  level: Number(row.level),
  priceVersion: row.price_version,
  source: row.source,
  outcome: row.outcome,
  promptTokens: Number(row.prompt_total),
  outputTokens: Number(row.output_total),
  totalPicos: picosOf(row.total),
  time: row.time,
})

const place = sql`(sequence, event_index)`
const frameOf = ({ sequence, eventIndex }: Pick<StatementPlace, 'sequence' | 'eventIndex'>) =>
  sql`(${BigInt(sequence)}, ${eventIndex})`

/** The newest bills of a span, of which a page looks at so many and no more. */
const newest = (db: ReadModels, workspaceId: string, { from, to }: StatementSpan) =>
  db
    .selectFrom('usage_entries')
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`${place} >= ${frameOf(from)} and ${place} < ${frameOf(to)}`)
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')

const findNewest = async (db: ReadModels, workspaceId: string, span: StatementSpan, wanted: ChargeFilter) => {
  const { model, key, surface, limit } = wanted
  let query = db
    .selectFrom(newest(db, workspaceId, span).select(shown).limit(limits.chargesScannedMax).as('newest'))
    .selectAll()
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
    .limit(limit)
  if (model !== undefined) query = query.where('model', '=', storedText(model))
  if (key !== undefined) query = query.where('key_id', '=', key)
  if (surface !== undefined) query = query.where('surface', '=', surface)
  return (await query.execute()).map(chargeOf)
}

const placeOfCharge = ({ sequence, eventIndex }: ListedCharge): StatementPlace => ({ sequence, eventIndex, line: 0 })

/** The last bill that a page looked at, where there may be more behind it. */
const findLastScanned = async (
  db: ReadModels,
  workspaceId: string,
  span: StatementSpan,
): Promise<StatementPlace | null> => {
  const row = await newest(db, workspaceId, span)
    .select(['sequence', 'event_index'])
    .offset(limits.chargesScannedMax - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : { sequence: Number(row.sequence), eventIndex: row.event_index, line: 0 }
}

/**
 * The charges of a range, newest first: those whose movements are in the statement of the range. Of one transaction, in which the tables
 * stand at `sequence`. No index is kept for what they are filtered by: a page looks at `limits.chargesScannedMax` bills, and so may have
 * fewer charges than asked for, or none, while more are left.
 */
export const listCharges = async (
  db: ReadModels,
  workspaceId: string,
  { readOn, ...wanted }: ChargesWanted,
  sequence: number,
): Promise<ChargePage> => {
  const { from, to } = await findSpan(db, workspaceId, wanted, sequence)
  const span = { from, to: readOn === undefined ? to : earlierOf(to, readOn) }
  const charges = await findNewest(db, workspaceId, span, { ...wanted, limit: wanted.limit + 1 })
  const last = charges[wanted.limit - 1]
  if (charges.length > wanted.limit && last !== undefined)
    return { charges: charges.slice(0, wanted.limit), next: placeOfCharge(last) }
  return { charges, next: await findLastScanned(db, workspaceId, span) }
}
