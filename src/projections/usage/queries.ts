import { sql } from 'kysely'
import { parseInstant, parseRangeEnd, utcDayAt } from '../../domain/instant.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels, Tables } from '../schema/tables.ts'
import { allocatedTo, type OtherDebit, selectOtherDebits } from '../statements/other-debits.ts'
import { type UsageColumn, usageColumnNames, usageColumns } from './table.ts'

const groupColumns = { day: 'day', model: 'model', key: 'key_id', surface: 'surface', label: 'value' } as const

/** `label`: the values of the query's label. */
export type UsageGroup = keyof typeof groupColumns

export interface UsageQuery {
  /** YYYY-MM-DD, UTC, included; null for no bound. */
  readonly from: string | null
  /** YYYY-MM-DD, UTC, included; null for no bound. */
  readonly to: string | null
  /** At least one, each once; also the order of the sums. */
  readonly groupBy: readonly UsageGroup[]
  readonly model?: string | undefined
  readonly key?: string | undefined
  readonly surface?: string | undefined
  /** Only requests with this tag (`tag:<name>`) or with an end user, or of one value of it. */
  readonly label?: { readonly name: string; readonly value: string | null } | undefined
  readonly after?: readonly string[] | undefined
  readonly limit: number
}

export interface UsageSums {
  /** A value is empty where it does not apply: of fees, and of a correction of none of the requests and tasks. */
  readonly group: readonly string[]
  readonly requests: bigint
  readonly usage: { readonly [C in UsageColumn as (typeof usageColumns)[C]]: bigint }
  readonly totalPicos: bigint
  readonly correctionsPicos: bigint
  readonly feesPicos: bigint
}

const usageOf = (row: { readonly [C in UsageColumn]: string | number | bigint }): UsageSums['usage'] =>
  Object.fromEntries(
    usageColumnNames.map((column) => [usageColumns[column], BigInt(row[column])]),
  ) as UsageSums['usage']

const groupedColumns = ['day', 'workspace_id', 'model', 'key_id', 'surface'] as const
const summedColumns = ['requests', 'total', ...usageColumnNames] as const
type SumsTable = Pick<
  Tables['usage_by_label'],
  (typeof groupedColumns)[number] | (typeof summedColumns)[number] | 'value'
>

/** What no value of the label has is under an empty one: all days, less those of the label. */
const selectDays = (db: ReadModels, workspaceId: string, label: UsageQuery['label']) => {
  const columns = sql.join(groupedColumns.map((name) => sql.ref(name)))
  const sums = sql.join(summedColumns.map((name) => sql.ref(name)))
  const negated = sql.join(summedColumns.map((name) => sql`-${sql.ref(name)}`))
  const ofWorkspace = sql`where workspace_id = ${workspaceId}`
  const all = sql`select ${columns}, ${sums}, '' as value from usage_by_day ${ofWorkspace}`
  if (label === undefined) return db.selectFrom(sql<SumsTable>`(${all})`.as('sums'))
  const ofLabel = sql`${ofWorkspace} and label = ${label.name}`
  const labelled = sql`select ${columns}, ${sums}, value from usage_by_label ${ofLabel}`
  if (label.value !== null)
    return db.selectFrom(sql<SumsTable>`(${labelled} and value = ${storedText(label.value)})`.as('sums'))
  const others = sql`${all} union all select ${columns}, ${negated}, '' from usage_by_label ${ofLabel}`
  return db.selectFrom(sql<SumsTable>`(${labelled} union all ${others})`.as('sums'))
}

const buildUsageQuery = (db: ReadModels, workspaceId: string, wanted: UsageQuery) => {
  const { from, to, model, key, surface, label, groupBy, after } = wanted
  let query = selectDays(db, workspaceId, label)
  if (from !== null) query = query.where('day', '>=', from)
  if (to !== null) query = query.where('day', '<=', to)
  if (model !== undefined) query = query.where('model', '=', storedText(model))
  if (key !== undefined) query = query.where('key_id', '=', key)
  if (surface !== undefined) query = query.where('surface', '=', surface)
  if (after === undefined) return query
  const columns = groupBy.map((group) => sql.ref(groupColumns[group]))
  return query.where(sql<boolean>`(${sql.join(columns)}) > (${sql.join(after.map(storedText))})`)
}

const selectSums = async (db: ReadModels, workspaceId: string, wanted: UsageQuery): Promise<readonly UsageSums[]> => {
  const columns = wanted.groupBy.map((group) => groupColumns[group])
  let query = buildUsageQuery(db, workspaceId, wanted)
    .select(columns)
    .select(({ fn }) => usageColumnNames.map((column) => fn.sum(column).as(column)))
    .select(({ fn }) => [fn.sum<string>('requests').as('requests'), fn.sum<string>('total').as('total')])
    .groupBy(columns)
    .having(({ fn }) => fn.sum('requests'), '>', 0)
    .limit(wanted.limit)
  for (const column of columns) query = query.orderBy(column)
  return (await query.execute()).map((row) => ({
    group: columns.map((column) => restoredText(row[column] ?? '')),
    requests: BigInt(row.requests),
    usage: usageOf(row),
    totalPicos: parsePicos(row.total),
    correctionsPicos: 0n,
    feesPicos: 0n,
  }))
}

const debitValue = ({ time, allocation }: OtherDebit, group: UsageGroup, { label }: UsageQuery): string =>
  group === 'day' ? utcDayAt(time.getTime()) : allocatedTo(allocation, group === 'label' ? (label?.name ?? '') : group)

const compareGroups = (one: readonly string[], other: readonly string[]): number => {
  const place = one.findIndex((value, at) => value !== other[at])
  if (place < 0) return 0
  return Buffer.compare(Buffer.from(storedText(one[place]!)), Buffer.from(storedText(other[place]!)))
}

const isWanted = ({ allocation }: OtherDebit, { model, key, surface, label }: UsageQuery): boolean =>
  (model === undefined || model === allocation.model) &&
  (key === undefined || key === allocation.keyId) &&
  (surface === undefined || surface === allocation.surface) &&
  (label === undefined || label.value === null || label.value === allocatedTo(allocation, label.name))

const noUsage = usageOf(Object.fromEntries(usageColumnNames.map((name) => [name, 0])) as Record<UsageColumn, number>)

const selectOthers = async (db: ReadModels, workspaceId: string, wanted: UsageQuery): Promise<readonly UsageSums[]> => {
  const { from, to, groupBy, after } = wanted
  let entries = sql`select * from wallet_entries where workspace_id = ${workspaceId} and kind <> 'charge'`
  if (from !== null) entries = sql`${entries} and time >= ${parseInstant(from)}`
  if (to !== null) entries = sql`${entries} and time < ${parseRangeEnd(to)}`
  return (await selectOtherDebits(db, entries))
    .filter((debit) => !debit.isPayment && isWanted(debit, wanted))
    .map((debit) => ({
      group: groupBy.map((group) => debitValue(debit, group, wanted)),
      requests: 0n,
      usage: noUsage,
      totalPicos: 0n,
      correctionsPicos: debit.kind === 'adjustment' ? debit.debitPicos : 0n,
      feesPicos: debit.kind === 'fee' ? debit.debitPicos : 0n,
    }))
    .filter(({ group }) => after === undefined || compareGroups(group, after) > 0)
}

/**
 * Ordered by the groups' values. Usage, corrections and fees together are what the statement of the days debits, without
 * corrections of payments: each counts on the day on which it was posted, and a correction under what it corrects. Must run in one transaction.
 */
export const selectUsage = async (
  db: ReadModels,
  workspaceId: string,
  wanted: UsageQuery,
): Promise<readonly UsageSums[]> => {
  const merged = new Map<string, UsageSums>()
  for (const sums of [
    ...(await selectSums(db, workspaceId, wanted)),
    ...(await selectOthers(db, workspaceId, wanted)),
  ]) {
    const name = JSON.stringify(sums.group)
    const { correctionsPicos, feesPicos, ...known } = merged.get(name) ?? {
      ...sums,
      correctionsPicos: 0n,
      feesPicos: 0n,
    }
    merged.set(name, {
      ...known,
      correctionsPicos: correctionsPicos + sums.correctionsPicos,
      feesPicos: feesPicos + sums.feesPicos,
    })
  }
  const sorted = [...merged.values()].toSorted(({ group: one }, { group: other }) => compareGroups(one, other))
  return sorted.slice(0, wanted.limit)
}
