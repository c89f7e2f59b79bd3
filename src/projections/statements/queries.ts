import { sql } from 'kysely'
import { minuteMs } from '../../domain/instant.ts'
import type { Allocation } from '../../domain/ledger/allocation.ts'
import { findClosing } from '../../domain/ledger/periods.ts'
import type { MovementKind } from '../../domain/wallet/evolve.ts'
import { selectPeriods } from '../admin-changes/queries.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredText } from '../schema/stored-text.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'
import { allocateCharged, charged, findCorrected, textIn } from './allocations.ts'

/** In picos. */
export interface WalletEntry {
  readonly sequence: number
  readonly eventIndex: number
  readonly line: number
  readonly kind: MovementKind
  readonly amountPicos: bigint
  readonly heldPicos: bigint
  readonly balanceAfterPicos: bigint
  readonly heldAfterPicos: bigint
  readonly reference: string
  /** When it was posted: never before an earlier movement of the wallet. */
  readonly time: Date
  /** When its event occurred: that of the closing event of a request. */
  readonly eventTime: Date
}

export interface StatementEntry extends WalletEntry, Allocation {
  /** The note of a credit or an adjustment; empty for every other movement. */
  readonly note: string
  /** The id of what an adjustment corrects, whose allocation it has; empty for every other movement. */
  readonly corrects: string
}

export type EntryPosition = Pick<WalletEntry, 'sequence' | 'eventIndex' | 'line'>

/** Instants; null leaves that end open. */
export interface StatementRange {
  /** Included. */
  readonly from: Date | null
  /** Excluded. */
  readonly to: Date | null
}

export interface StatementSpan {
  readonly from: EntryPosition
  readonly to: EntryPosition
}

interface RangeSpan extends StatementSpan {
  /** No later event can be in the range: a movement after it exists. */
  readonly isFinal: boolean
}

export interface WalletBalance {
  readonly balancePicos: bigint
  readonly heldPicos: bigint
}

const start: EntryPosition = { sequence: 0, eventIndex: 0, line: 0 }
const nothing: WalletBalance = { balancePicos: 0n, heldPicos: 0n }

const afterFrame = (sequence: number): EntryPosition => ({ ...start, sequence: sequence + 1 })

export const positionAfter = ({ sequence, eventIndex, line }: EntryPosition): EntryPosition => ({
  sequence,
  eventIndex,
  line: line + 1,
})

const positionColumns = sql`(sequence, event_index, line)`
const toSqlPosition = ({ sequence, eventIndex, line }: EntryPosition) =>
  sql`(${BigInt(sequence)}, ${eventIndex}, ${line})`

/** Of rows that have one place a request or task. */
export const isInSpan = ({ from, to }: StatementSpan) =>
  sql<boolean>`(sequence, event_index) >= (${BigInt(from.sequence)}, ${from.eventIndex}) and (sequence, event_index) < (${BigInt(to.sequence)}, ${to.eventIndex})`

const minuteOf = (instant: Date): Date => new Date(Math.floor(instant.getTime() / minuteMs) * minuteMs)

/** No movement before this frame has so late a time; null if none has it at all. If the minutes have a gap: any may. */
export const firstOfMinute = (instant: Date) => sql<bigint>`(
  select case when places_to < checkpoint.sequence then 0 else (
    select movement_minutes.sequence from movement_minutes where minute >= ${minuteOf(instant)} order by minute limit 1
  ) end
  from checkpoint
)`

/** In the order of the log, which is that of the times of a wallet's entries. */
const findRangeStart = async (
  db: ReadModels,
  workspaceId: string,
  instant: Date,
): Promise<EntryPosition | undefined> => {
  const row = await db
    .selectFrom('wallet_entries')
    .select(['sequence', 'event_index', 'line'])
    .where('workspace_id', '=', workspaceId)
    .where('time', '>=', instant)
    .where('sequence', '>=', firstOfMinute(instant))
    .orderBy('sequence')
    .orderBy('event_index')
    .orderBy('line')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : { sequence: Number(row.sequence), eventIndex: row.event_index, line: row.line }
}

const findSpanOfAll = async (db: ReadModels, { from, to }: StatementRange, sequence: number): Promise<RangeSpan> => {
  const end = afterFrame(sequence)
  const findMinute = async (instant: Date): Promise<EntryPosition> => {
    const { rows } = await sql<{ readonly first: string | null }>`select ${firstOfMinute(instant)} as first`.execute(db)
    const first = rows[0]?.first ?? null
    return first === null ? end : { ...start, sequence: Number(first) }
  }
  const last = to === null ? end : await findMinute(to)
  return { from: from === null ? start : await findMinute(from), to: last.sequence === 0 ? end : last, isFinal: false }
}

/** The tables are at `sequence`; adjoining ranges have adjoining spans. Null: of all workspaces, by whole minutes. */
export const findSpan = async (
  db: ReadModels,
  workspaceId: string | null,
  { from, to }: StatementRange,
  sequence: number,
): Promise<RangeSpan> => {
  if (workspaceId === null) return findSpanOfAll(db, { from, to }, sequence)
  const end = afterFrame(sequence)
  const first = from === null ? start : await findRangeStart(db, workspaceId, from)
  const last = to === null ? undefined : await findRangeStart(db, workspaceId, to)
  return { from: first ?? end, to: last ?? end, isFinal: last !== undefined }
}

export const findBalanceBefore = async (
  db: ReadModels,
  workspaceId: string,
  before: EntryPosition,
): Promise<WalletBalance> => {
  const row = await db
    .selectFrom('wallet_entries')
    .select(['balance_after', 'held_after'])
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`${positionColumns} < ${toSqlPosition(before)}`)
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
    .orderBy('line', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined
    ? nothing
    : { balancePicos: parsePicos(row.balance_after), heldPicos: parsePicos(row.held_after) }
}

export const entryFromRow = (row: StoredRow<'wallet_entries'>): WalletEntry => ({
  sequence: Number(row.sequence),
  eventIndex: row.event_index,
  line: row.line,
  kind: row.kind,
  amountPicos: parsePicos(row.amount),
  heldPicos: parsePicos(row.held),
  balanceAfterPicos: parsePicos(row.balance_after),
  heldAfterPicos: parsePicos(row.held_after),
  reference: restoredText(row.reference),
  time: row.time,
  eventTime: row.event_time ?? row.time,
})

export const isBefore = (one: EntryPosition, other: EntryPosition): boolean =>
  (one.sequence - other.sequence || one.eventIndex - other.eventIndex || one.line - other.line) < 0

export const maxPosition = (one: EntryPosition, other: EntryPosition): EntryPosition =>
  isBefore(one, other) ? other : one

export const minPosition = (one: EntryPosition, other: EntryPosition): EntryPosition =>
  isBefore(one, other) ? one : other

interface EntryQuery extends StatementSpan {
  readonly kind?: MovementKind | undefined
  /** Without holds and releases, unless they are the kind asked for. */
  readonly hidesHolds?: boolean | undefined
  readonly newestFirst?: boolean | undefined
  readonly limit: number
}

/** `detail` is that of the administrative change by the same event. */
type EntryRow = StoredRow<'wallet_entries'> &
  Parameters<typeof allocateCharged>[0] & { readonly detail: Readonly<Record<string, unknown>> | null }

const correctsOf = ({ kind, detail }: EntryRow): string => (kind === 'adjustment' ? textIn(detail, 'corrects') : '')

/** The first entries of a span, in the order of the log, or the last ones, newest first. */
export const selectEntries = async (
  db: ReadModels,
  workspaceId: string,
  { from, to, kind, hidesHolds = false, newestFirst = false, limit }: EntryQuery,
): Promise<readonly StatementEntry[]> => {
  const direction = newestFirst ? 'desc' : 'asc'
  let query = db
    .selectFrom('wallet_entries')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`${positionColumns} >= ${toSqlPosition(from)} and ${positionColumns} < ${toSqlPosition(to)}`)
    .orderBy('sequence', direction)
    .orderBy('event_index', direction)
    .orderBy('line', direction)
    .limit(limit)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  else if (hidesHolds) query = query.where('kind', 'not in', ['hold', 'release'])
  // Movements other than charges are rare, and have their own index.
  if (kind !== undefined && kind !== 'charge') query = query.where('kind', '<>', 'charge')
  const order = sql.raw(`order by sequence ${direction}, event_index ${direction}, line ${direction}`)
  const { rows } = await sql<EntryRow>`select e.*, a.detail, ${charged.columns} from ${query} e ${charged.joins}
    left join admin_changes a on a.sequence = e.sequence and a.event_index = e.event_index and e.kind in ('credit', 'adjustment')
    ${order}`.execute(db)
  const ids = rows.map(correctsOf).filter((id) => id !== '')
  const corrected = await findCorrected(db, workspaceId, new Set(ids))
  return rows.map((row) => {
    const corrects = correctsOf(row)
    const allocation = corrected.get(corrects)?.allocation ?? allocateCharged(row)
    return { ...entryFromRow(row), note: textIn(row.detail, 'note'), corrects, ...allocation }
  })
}

export interface StatementQuery extends StatementRange, Pick<EntryQuery, 'kind' | 'hidesHolds' | 'newestFirst'> {
  readonly readOn?: EntryPosition | undefined
  readonly limit: number
}

export interface StatementPage {
  readonly isFinal: boolean
  /** Of the whole range, on every page. */
  readonly opening: WalletBalance
  readonly closing: WalletBalance
  readonly entries: readonly StatementEntry[]
  /** Where the next page begins, or, newest first, ends; null if none is left. */
  readonly next: EntryPosition | null
}

const spanLeft = ({ from, to }: StatementSpan, { readOn, newestFirst }: StatementQuery): StatementSpan => {
  if (readOn === undefined) return { from, to }
  return newestFirst ? { from, to: minPosition(to, readOn) } : { from: maxPosition(from, readOn), to }
}

/** Must run in one transaction, with the tables at `sequence`. */
export const readStatement = async (
  db: ReadModels,
  workspaceId: string,
  wanted: StatementQuery,
  sequence: number,
): Promise<StatementPage> => {
  const { kind, hidesHolds, newestFirst, limit } = wanted
  const span = await findSpan(db, workspaceId, wanted, sequence)
  const left = { ...spanLeft(span, wanted), kind, hidesHolds, newestFirst, limit: limit + 1 }
  const entries = await selectEntries(db, workspaceId, left)
  const isMore = entries.length > limit
  const next = isMore ? entries[newestFirst ? limit - 1 : limit] : undefined
  return {
    isFinal: span.isFinal || findClosing(await selectPeriods(db), wanted.to) !== null,
    opening: await findBalanceBefore(db, workspaceId, span.from),
    closing: await findBalanceBefore(db, workspaceId, span.to),
    entries: entries.slice(0, limit),
    next: next === undefined ? null : { sequence: next.sequence, eventIndex: next.eventIndex, line: next.line },
  }
}
