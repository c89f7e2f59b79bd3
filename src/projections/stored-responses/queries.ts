import { findRequestFrames } from '../requests/queries.ts'
import type { ReadModels } from '../schema/tables.ts'

/** The request that a response answers, and its frames; undefined for a response that the tables do not have. */
export const findStoredResponse = async (db: ReadModels, responseId: string) => {
  const row = await db
    .selectFrom('stored_responses')
    .select('request_id')
    .where('response_id', '=', responseId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  return { requestId: row.request_id, sequences: (await findRequestFrames(db, row.request_id)) ?? [] }
}
