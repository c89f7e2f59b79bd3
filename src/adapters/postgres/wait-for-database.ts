import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { sharedLimits } from '../../runtime/limits.ts'

/** SQLSTATE of a server that starts up, recovers or shuts down. */
const cannotConnectNow = '57P03'

const queryOnce = async <Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: readonly string[] = [],
): Promise<Row[]> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: sharedLimits.startMs })
  // A broken connection fails its query too, and that error is reported.
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query<Row>(text, [...values])).rows
  } finally {
    await client.end()
  }
}

const isRefusal = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code !== cannotConnectNow

/** Throws at once when refused (wrong password, no such database); after `timeoutMs` or `signal` the last error. */
export const waitForDatabase = async (url: string, timeoutMs: number, signal?: AbortSignal): Promise<void> => {
  const deadline = AbortSignal.timeout(timeoutMs)
  for (;;) {
    try {
      await queryOnce(url, 'select 1')
      return
    } catch (error) {
      if (isRefusal(error) || deadline.aborted || signal?.aborted) throw error
    }
    await delay(sharedLimits.embeddedPollMs)
  }
}

/** `url` names another database of the same server. */
export const createDatabase = async (url: string, name: string): Promise<void> => {
  const found = await queryOnce(url, 'select 1 from pg_database where datname = $1', [name])
  if (found.length === 0) await queryOnce(url, `create database ${pg.escapeIdentifier(name)}`)
}
