import { sql } from 'kysely'
import type { ReadModels } from '../schema/tables.ts'

interface CountedRefusals {
  readonly minute: Date
  /** Null, as the key, where no key worked. */
  readonly workspaceId: string | null
  readonly keyId: string | null
  readonly code: string
  readonly count: number
}

type Place = Pick<CountedRefusals, 'minute' | 'workspaceId' | 'keyId' | 'code'>

interface RefusalQuery {
  readonly from: Date | undefined
  /** No longer in it. */
  readonly to: Date | undefined
  readonly key: string | undefined
  readonly code: string | undefined
  /** Where the page before ended. */
  readonly after: Place | undefined
  readonly limit: number
}

/** Newest first. Null: of all workspaces, and without one. */
export const selectRefusals = async (
  db: ReadModels,
  workspaceId: string | null,
  { from, to, key, code, after, limit }: RefusalQuery,
): Promise<readonly CountedRefusals[]> => {
  const order = ['minute', 'workspace_id', 'key_id', 'code'] as const
  let query = db.selectFrom('refusals_by_minute').selectAll().limit(limit)
  for (const column of order) query = query.orderBy(column, 'desc')
  if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId)
  if (from !== undefined) query = query.where('minute', '>=', from)
  if (to !== undefined) query = query.where('minute', '<', to)
  if (key !== undefined) query = query.where('key_id', '=', key)
  if (key !== undefined && workspaceId === null) {
    // The index begins with the workspace.
    const owner = db.selectFrom('keys').select('workspace_id').where('key_id', '=', key)
    query = query.where('workspace_id', '=', owner)
  }
  if (code !== undefined) query = query.where('code', '=', code)
  if (after !== undefined)
    query = query.where(
      sql<boolean>`(minute, workspace_id, key_id, code) < (${after.minute}, ${after.workspaceId ?? ''}, ${after.keyId ?? ''}, ${after.code})`,
    )
  return (await query.execute()).map((row) => ({
    minute: row.minute,
    workspaceId: row.workspace_id || null,
    keyId: row.key_id || null,
    code: row.code,
    count: Number(row.count),
  }))
}
