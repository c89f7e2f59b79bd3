import { sql } from 'kysely'
import { parsePicos } from '../schema/columns.ts'
import { restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'
import { type UsageColumn, usageColumnNames, usageColumns } from './table.ts'

const groupColumns = { day: 'day', model: 'model', key: 'key_id', surface: 'surface', label: 'value' } as const

/** `label`: the values of the query's label. */
export type UsageGroup = keyof typeof groupColumns

export interface UsageQuery {
  /** YYYY-MM-DD, UTC, included; null for no bound. */
  readonly from: string | null
  /** YYYY-MM-DD, UTC, excluded; null for no bound. */
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
  readonly group: readonly string[]
  readonly requests: bigint
  readonly usage: { readonly [C in UsageColumn as (typeof usageColumns)[C]]: bigint }
  readonly totalPicos: bigint
}

const usageOf = (row: { readonly [C in UsageColumn]: string | number | bigint }): UsageSums['usage'] =>
  Object.fromEntries(
    usageColumnNames.map((column) => [usageColumns[column], BigInt(row[column])]),
  ) as UsageSums['usage']

const sumColumns = ['day', 'workspace_id', 'model', 'key_id', 'surface', 'requests', 'total'] as const

/** Only the days of a label have a value. */
const selectSums = (db: ReadModels, label: UsageQuery['label']) => {
  if (label === undefined) {
    const days = db.selectFrom('usage_by_day').select(sumColumns).select(usageColumnNames)
    return db.selectFrom(days.select(sql<string>`''`.as('value')).as('sums'))
  }
  const { name, value } = label
  const days = db.selectFrom('usage_by_label').select(sumColumns).select(usageColumnNames).select('value')
  const ofLabel = days.where('label', '=', name)
  return db.selectFrom((value === null ? ofLabel : ofLabel.where('value', '=', storedText(value))).as('sums'))
}

const buildUsageQuery = (db: ReadModels, workspaceId: string, wanted: UsageQuery) => {
  const { from, to, model, key, surface, label, groupBy, after } = wanted
  let query = selectSums(db, label).where('workspace_id', '=', workspaceId)
  if (from !== null) query = query.where('day', '>=', from)
  if (to !== null) query = query.where('day', '<', to)
  if (model !== undefined) query = query.where('model', '=', storedText(model))
  if (key !== undefined) query = query.where('key_id', '=', key)
  if (surface !== undefined) query = query.where('surface', '=', surface)
  if (after === undefined) return query
  const columns = groupBy.map((group) => sql.ref(groupColumns[group]))
  return query.where(sql<boolean>`(${sql.join(columns)}) > (${sql.join(after.map(storedText))})`)
}

/** Ordered by the groups' values. */
export const selectUsage = async (
  db: ReadModels,
  workspaceId: string,
  wanted: UsageQuery,
): Promise<readonly UsageSums[]> => {
  const columns = wanted.groupBy.map((group) => groupColumns[group])
  let query = buildUsageQuery(db, workspaceId, wanted)
    .select(columns)
    .select(({ fn }) => usageColumnNames.map((column) => fn.sum(column).as(column)))
    .select(({ fn }) => [fn.sum<string>('requests').as('requests'), fn.sum<string>('total').as('total')])
    .groupBy(columns)
    .limit(wanted.limit)
  for (const column of columns) query = query.orderBy(column)
  return (await query.execute()).map((row) => ({
    group: columns.map((column) => restoredText(row[column] ?? '')),
    requests: BigInt(row.requests),
    usage: usageOf(row),
    totalPicos: parsePicos(row.total),
  }))
}
