import type { ReadModels } from '../schema/tables.ts'

/** Of a request and of its end, as an index of the log; undefined for one that the tables do not have as closed. */
export const findRequestFrames = async (db: ReadModels, requestId: string): Promise<readonly number[] | undefined> => {
  const row = await db
    .selectFrom('requests')
    .select(['first_sequence', 'sequence'])
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  return row && [row.first_sequence ?? row.sequence, row.sequence].map(Number)
}

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
