import { sql } from 'kysely'
import { firstTokenColumns } from '../requests/table.ts'
import { restoredOrNull, restoredText } from '../schema/stored-text.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'

type Called = Pick<StoredRow<'failed_calls'>, 'provider' | 'deployment'>

interface DeploymentCalls {
  readonly provider: string
  /** Null of a provider without several. */
  readonly deployment: string | null
  readonly calls: number
  readonly failed: number
  /** By the columns of `firstTokenColumns`. */
  readonly firstTokens: readonly number[]
  readonly lastFailure: {
    readonly at: Date
    readonly model: string
    readonly status: number | null
    readonly reason: string | null
  } | null
}

/** Of the hours from then on, and those that failed before; others are absent. */
export const selectCalls = async (db: ReadModels, since: Date): Promise<readonly DeploymentCalls[]> => {
  const recent = await db
    .selectFrom('calls_by_hour')
    .select(['provider', 'deployment'])
    .select(
      (['calls', 'failed', ...firstTokenColumns] as const).map((name) => sql<string>`sum(${sql.ref(name)})`.as(name)),
    )
    .where('hour', '>=', since)
    .groupBy(['provider', 'deployment'])
    .execute()
  const failures = await db.selectFrom('failed_calls').selectAll().execute()
  const isOf = (one: Called) => (other: Called) =>
    one.provider === other.provider && one.deployment === other.deployment
  const earlier = failures.filter((each) => !recent.some(isOf(each)))
  return [...recent, ...earlier].map((row) => {
    const counts = 'calls' in row ? row : null
    const last = failures.find(isOf(row))
    return {
      provider: restoredText(row.provider),
      deployment: row.deployment === '' ? null : restoredText(row.deployment),
      calls: Number(counts?.calls ?? 0),
      failed: Number(counts?.failed ?? 0),
      firstTokens: firstTokenColumns.map((column) => Number(counts?.[column] ?? 0)),
      lastFailure:
        last === undefined
          ? null
          : { at: last.at, model: restoredText(last.model), status: last.status, reason: restoredOrNull(last.reason) },
    }
  })
}
