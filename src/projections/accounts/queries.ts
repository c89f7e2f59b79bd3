import type { Key, Workspace } from '../../domain/accounts/accounts.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredText } from '../schema/stored-text.ts'
import type { ReadModels, StoredRow } from '../schema/tables.ts'

const workspaceFromRow = (row: StoredRow<'workspaces'>): Workspace => ({
  workspaceId: row.workspace_id,
  name: restoredText(row.name),
  creditLimitPicos: parsePicos(row.credit_limit),
  ...(row.account === null ? {} : { account: row.account }),
})

export const keyFromRow = (row: StoredRow<'keys'>): Key => ({
  keyId: row.key_id,
  workspaceId: row.workspace_id,
  name: restoredText(row.name),
  sha256: row.sha256,
  prefix: restoredText(row.prefix),
  revoked: row.revoked,
  expiresAtMs: row.expires_at?.getTime() ?? null,
  replaces: row.replaces,
})

export const selectWorkspaces = async (db: ReadModels): Promise<readonly Workspace[]> =>
  (await db.selectFrom('workspaces').selectAll().orderBy('workspace_id').execute()).map(workspaceFromRow)

/** Includes revoked keys; ordered by id. */
export const selectKeys = async (db: ReadModels, workspaceId: string): Promise<readonly Key[]> => {
  const rows = await db
    .selectFrom('keys')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('key_id')
    .execute()
  return rows.map(keyFromRow)
}

export const hasWorkspace = async (db: ReadModels, workspaceId: string): Promise<boolean> => {
  const inTable = (table: 'workspaces' | 'wallets') =>
    db.selectFrom(table).select('workspace_id').where('workspace_id', '=', workspaceId)
  return (await inTable('workspaces').unionAll(inTable('wallets')).execute()).length > 0
}
