import { limits } from '../limits.ts'
import { picosOf } from './columns.ts'
import { restoredText } from './stored-text.ts'
import type { ReadModels } from './tables.ts'
import { type UsageColumn, usageColumnNames, usageColumns } from './usage.table.ts'

/** Sums of one day, model, key and surface of a workspace. */
export interface DayOfUsage {
  /** YYYY-MM-DD, UTC. */
  readonly day: string
  readonly model: string
  readonly keyId: string
  readonly surface: string
  readonly requests: bigint
  /** Tokens, by the name that an event's usage has for them. */
  readonly usage: { readonly [C in UsageColumn as (typeof usageColumns)[C]]: bigint }
  readonly totalPicos: bigint
}

export interface Days {
  /** YYYY-MM-DD, both days included. */
  readonly from: string
  readonly to: string
}

const usageOf = (row: { readonly [C in UsageColumn]: string }): DayOfUsage['usage'] =>
  Object.fromEntries(
    usageColumnNames.map((column) => [usageColumns[column], BigInt(row[column])]),
  ) as DayOfUsage['usage']

/** Usage of a workspace by day, model, key and surface, at most `limits.pageRowsMax` rows from the first day on. */
export const listUsageByDay = async (
  db: ReadModels,
  workspaceId: string,
  { from, to }: Days,
): Promise<readonly DayOfUsage[]> => {
  const rows = await db
    .selectFrom('usage_by_day')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .orderBy('day')
    .orderBy('model')
    .orderBy('key_id')
    .orderBy('surface')
    .limit(limits.pageRowsMax)
    .execute()
  return rows.map((row) => ({
    day: row.day,
    model: restoredText(row.model),
    keyId: row.key_id,
    surface: row.surface,
    requests: BigInt(row.requests),
    usage: usageOf(row),
    totalPicos: picosOf(row.total),
  }))
}
