import { restoredText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'

interface StoredResponse {
  readonly workspaceId: string
  readonly provider: string
}

export const findStoredResponse = async (db: ReadModels, responseId: string): Promise<StoredResponse | undefined> => {
  const row = await db
    .selectFrom('stored_responses')
    .select(['workspace_id', 'provider'])
    .where('response_id', '=', responseId)
    .executeTakeFirst()
  return row === undefined ? undefined : { workspaceId: row.workspace_id, provider: restoredText(row.provider) }
}
