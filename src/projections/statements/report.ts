import { type RawBuilder, sql } from 'kysely'
import { dayMs, utcDayAt } from '../../domain/instant.ts'
import { selectWorkspaces } from '../accounts/queries.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'
import { sameEvent } from './allocations.ts'
import { allocatedTo, type OtherDebit, selectOtherDebits } from './other-debits.ts'
import { entriesInSpans, spansOf } from './spans.ts'

const timeFormats = {
  hour: 'YYYY-MM-DD"T"HH24:00"Z"',
  day: 'YYYY-MM-DD',
  week: 'IYYY-"W"IW',
  month: 'YYYY-MM',
} as const

type TimeGroup = keyof typeof timeFormats
type NamedGroup = 'workspace' | 'account' | 'model' | 'key' | 'surface' | 'end_user' | 'event_month' | TimeGroup
/** Those that can be asked for. */
export const reportGroups: readonly NamedGroup[] = [
  ...(['workspace', 'account', 'model', 'key', 'surface', 'end_user'] as const),
  ...(['hour', 'day', 'week', 'month'] as const),
]
export type ReportGroup = NamedGroup | `tag:${string}`

const tagPrefix = 'tag:'

/** Null where it names no group: one of `reportGroups`, or `tag:` and the name of a tag. */
export const parseReportGroup = (text: string): ReportGroup | null => {
  if (text.startsWith(tagPrefix)) return text.length > tagPrefix.length ? `tag:${text.slice(tagPrefix.length)}` : null
  return reportGroups.find((group) => group === text) ?? null
}

export interface ReportQuery {
  /** Included. */
  readonly from: Date
  /** Excluded. */
  readonly to: Date
  /** Absent: all. */
  readonly workspaceId?: string | undefined
  readonly groupBy: readonly ReportGroup[]
}

/** Debits of wallets in picos: what was given back is below zero. */
export interface ReportRow {
  /** Empty where a group does not apply: what cannot be attributed. */
  readonly group: readonly string[]
  readonly requests: number
  readonly chargesPicos: bigint
  readonly correctionsPicos: bigint
  readonly feesPicos: bigint
}

export interface Report {
  readonly rows: readonly ReportRow[]
  /** Of those with a movement in the period. */
  readonly workspaces: number
}

export class ReportFault extends Error {
  override readonly name = 'ReportFault'
}

const nothing: ReportRow = { group: [], requests: 0, chargesPicos: 0n, correctionsPicos: 0n, feesPicos: 0n }

const isTimeGroup = (group: ReportGroup): group is TimeGroup => group in timeFormats

const timeColumn = (group: TimeGroup) => sql<string>`to_char(e.time at time zone 'UTC', ${timeFormats[group]})`

/** As PostgreSQL formats it: `2026-W09`. A week belongs to the year of its Thursday. */
const isoWeekOf = (time: Date): string => {
  const midnightMs = Math.floor(time.getTime() / dayMs) * dayMs
  const thursday = new Date(midnightMs + (4 - (time.getUTCDay() || 7)) * dayMs)
  const year = thursday.getUTCFullYear()
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0)) / (7 * dayMs)) + 1
  return `${year}-W${String(week).padStart(2, '0')}`
}

const formatTime = (time: Date, group: TimeGroup): string => {
  if (group === 'week') return isoWeekOf(time)
  const text = time.toISOString()
  return group === 'hour' ? `${text.slice(0, 13)}:00Z` : text.slice(0, group === 'day' ? 10 : 7)
}

/** Of a movement `e`, with the usage `u` or the task `t` that it charges. */
const groupColumn = (group: ReportGroup): RawBuilder<string> => {
  if (isTimeGroup(group)) return timeColumn(group)
  switch (group) {
    case 'workspace':
      return sql<string>`e.workspace_id`
    case 'account':
      return sql<string>`coalesce((select account from workspaces where workspace_id = e.workspace_id), '')`
    case 'event_month':
      return sql<string>`to_char(coalesce(e.event_time, e.time) at time zone 'UTC', 'YYYY-MM')`
    case 'model':
      return sql<string>`coalesce(u.model, t.model, '')`
    case 'key':
      return sql<string>`coalesce(u.key_id, t.key_id, '')`
    case 'surface':
      return sql<string>`coalesce(u.surface, t.surface, '')`
    case 'end_user':
      return sql<string>`coalesce(u.end_user, '')`
    default:
      return sql<string>`coalesce(u.tags ->> ${group.slice(tagPrefix.length)}, '')`
  }
}

interface SumsRow {
  readonly values: readonly string[]
  readonly requests: string
  readonly charges: string
}

const isLabel = (group: ReportGroup): boolean => group === 'end_user' || group.startsWith(tagPrefix)

/** The sums by day have each label apart from the others, and neither hours nor the months of events. */
const isSummedByDay = ({ from, to, groupBy }: ReportQuery): boolean =>
  [from, to].every((time) => time.getTime() % dayMs === 0) &&
  !groupBy.includes('hour') &&
  !groupBy.includes('event_month') &&
  groupBy.filter(isLabel).length <= 1

const dayGroupColumn = (group: ReportGroup): RawBuilder<string> => {
  if (isTimeGroup(group)) return sql<string>`to_char(e.day, ${timeFormats[group]})`
  if (isLabel(group)) return sql<string>`e.value`
  return group === 'key'
    ? sql<string>`e.key_id`
    : group === 'workspace' || group === 'account'
      ? groupColumn(group)
      : sql.ref(`e.${group}`)
}

/** What has no value of the label is all, less what has one. */
const daySums = ({ from, to, workspaceId, groupBy }: ReportQuery): RawBuilder<unknown> => {
  const groups = sql`day, workspace_id, model, key_id, surface`
  const ofWorkspace = workspaceId === undefined ? sql`true` : sql`workspace_id = ${workspaceId}`
  const wanted = sql`day >= ${utcDayAt(from.getTime())}::date and day < ${utcDayAt(to.getTime())}::date and ${ofWorkspace}`
  const all = sql`select ${groups}, '' as value, requests, total from usage_by_day where ${wanted}`
  const label = groupBy.find(isLabel)
  if (label === undefined) return all
  const labelled = sql`from usage_by_label where label = ${label} and ${wanted}`
  return sql`${all} union all select ${groups}, '', -requests, -total ${labelled}
    union all select ${groups}, value, requests, total ${labelled}`
}

const selectCharges = async (db: ReadModels, wanted: ReportQuery): Promise<readonly ReportRow[]> => {
  const byDay = isSummedByDay(wanted)
  const values = sql`array[${sql.join(wanted.groupBy.map(byDay ? dayGroupColumn : groupColumn))}]::text[] as values`
  const selected = byDay
    ? sql<SumsRow>`select ${values}, sum(requests) as requests, -sum(total) as charges
      from (${daySums(wanted)}) e group by 1 having sum(requests) > 0`
    : sql<SumsRow>`with ${spansOf(wanted)}
      select ${values}, count(*) filter (where e.kind = 'charge') as requests, sum(e.amount) as charges
      from ${entriesInSpans}
      left join usage_entries u on ${sameEvent('u')}
      left join task_charges t on ${sameEvent('t')}
      where e.kind in ('charge', 'excess')
      group by 1`
  const { rows } = await selected.execute(db)
  return rows.map((row) => ({
    ...nothing,
    group: row.values.map(restoredText),
    requests: Number(row.requests),
    chargesPicos: -parsePicos(row.charges),
  }))
}

const debitValue = (
  group: ReportGroup,
  { workspaceId, time, eventTime, allocation }: OtherDebit,
  accounts: ReadonlyMap<string, string>,
): string => {
  switch (group) {
    case 'workspace':
      return workspaceId
    case 'account':
      return accounts.get(workspaceId) ?? ''
    case 'event_month':
      return formatTime(eventTime, 'month')
    default:
      return isTimeGroup(group) ? formatTime(time, group) : allocatedTo(allocation, group)
  }
}

const rowsOf = async (
  db: ReadModels,
  wanted: ReportQuery,
  debits: readonly OtherDebit[],
): Promise<readonly ReportRow[]> => {
  const workspaces = debits.length === 0 ? [] : await selectWorkspaces(db)
  const accounts = new Map(workspaces.map(({ workspaceId, account = '' }) => [workspaceId, account]))
  return debits.map((debit) => ({
    ...nothing,
    group: wanted.groupBy.map((group) => debitValue(group, debit, accounts)),
    [debit.kind === 'fee' ? 'feesPicos' : 'correctionsPicos']: debit.debitPicos,
  }))
}

const addRows = (one: ReportRow, other: ReportRow): ReportRow => ({
  group: one.group,
  requests: one.requests + other.requests,
  chargesPicos: one.chargesPicos + other.chargesPicos,
  correctionsPicos: one.correctionsPicos + other.correctionsPicos,
  feesPicos: one.feesPicos + other.feesPicos,
})

export const sumRows = (rows: readonly ReportRow[]): ReportRow => rows.reduce(addRows, nothing)

export const netPicos = ({ chargesPicos, correctionsPicos, feesPicos }: ReportRow): bigint =>
  chargesPicos + correctionsPicos + feesPicos

const compareGroups = ({ group: one }: ReportRow, { group: other }: ReportRow): number => {
  const place = one.findIndex((value, at) => value !== other[at])
  return place < 0 ? 0 : one[place]! < other[place]! ? -1 : 1
}

const mergeRows = (rows: readonly ReportRow[]): readonly ReportRow[] => {
  const merged = new Map<string, ReportRow>()
  for (const row of rows) {
    const name = JSON.stringify(row.group)
    const known = merged.get(name)
    merged.set(name, known === undefined ? row : addRows(known, row))
  }
  return [...merged.values()].toSorted(compareGroups)
}

interface StatementRow {
  readonly workspaces: string
  readonly moved: string
  readonly funded: string
}

/** By the balances before and after each span, and what was put in meanwhile or lapsed. */
const selectStatements = async (db: ReadModels, wanted: ReportQuery): Promise<StatementRow> => {
  const { rows } = await sql<StatementRow>`with ${spansOf(wanted)}
  select count(*) as workspaces, coalesce(sum(closing - opening), 0) as moved,
    coalesce((select sum(e.amount) from ${entriesInSpans}
      where e.kind in ('credit', 'lapse') and e.kind <> 'charge'), 0) as funded
  from balances`.execute(db)
  return rows[0]!
}

/**
 * Charges, corrections and fees of all workspaces, by group. Throws ReportFault where they are not what the statements of
 * the period come to. Must run in one transaction.
 */
export const readReport = async (db: ReadModels, wanted: ReportQuery): Promise<Report> => {
  const debits = await selectOtherDebits(db, sql`with ${spansOf(wanted)} select e.* from ${entriesInSpans}`)
  const { costs = [], payments = [] } = Object.groupBy(debits, ({ isPayment }) => (isPayment ? 'payments' : 'costs'))
  const rows = mergeRows([...(await selectCharges(db, wanted)), ...(await rowsOf(db, wanted, costs))])
  const { workspaces, moved, funded } = await selectStatements(db, wanted)
  const paidBackPicos = payments.reduce((sum, { debitPicos }) => sum + debitPicos, 0n)
  const debitsPicos = parsePicos(funded) - paidBackPicos - parsePicos(moved)
  const totalPicos = netPicos(sumRows(rows))
  if (totalPicos !== debitsPicos)
    throw new ReportFault(`the report comes to ${totalPicos} picos, and the statements of its period to ${debitsPicos}`)
  return { rows, workspaces: Number(workspaces) }
}
