import { sql } from 'kysely'
import { storedText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'
import { firstTokenColumns } from './table.ts'

interface OutcomesQuery {
  readonly from: Date
  /** No longer in it. */
  readonly to: Date
  readonly model?: string | undefined
  readonly key?: string | undefined
}

interface HourOutcomes {
  readonly hour: Date
  readonly requests: number
  readonly failed: number
  readonly interrupted: number
  /** By the columns of `firstTokenColumns`. */
  readonly firstTokens: readonly number[]
}

/** By hour, in their order, without those in which no request ended. Null: of all workspaces. */
export const selectOutcomes = async (
  db: ReadModels,
  workspaceId: string | null,
  { from, to, model, key }: OutcomesQuery,
): Promise<readonly HourOutcomes[]> => {
  let query = db
    .selectFrom('outcomes_by_hour')
    .select('hour')
    .select(
      (['requests', 'failed', 'interrupted', ...firstTokenColumns] as const).map((name) =>
        sql<string>`sum(${sql.ref(name)})`.as(name),
      ),
    )
    .where('hour', '>=', from)
    .where('hour', '<', to)
    .groupBy('hour')
    .orderBy('hour')
  if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId)
  if (model !== undefined) query = query.where('model', '=', storedText(model))
  if (key !== undefined) query = query.where('key_id', '=', key)
  return (await query.execute()).map((row) => ({
    hour: row.hour,
    requests: Number(row.requests),
    failed: Number(row.failed),
    interrupted: Number(row.interrupted),
    firstTokens: firstTokenColumns.map((column) => Number(row[column])),
  }))
}
