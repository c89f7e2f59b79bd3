import pg from 'pg'
import { postgresLimits } from './limits.ts'

export const defaultSchema = 'ledger'

/** Of tables that are made beside the live ones. */
export const rebuildSchema = (live: string): string => `${live}_rebuild`

export interface SchemaLocation {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  readonly schema: string
}

const schemaPattern = /^[a-z][a-z0-9_]{0,40}$/

export const assertSchemaName = (schema: string): void => {
  if (!schemaPattern.test(schema)) throw new RangeError(`not a schema name: ${JSON.stringify(schema)}`)
}

/** Lets the server notice a client that vanished: its transaction would hold its locks for hours. */
const keepAlive = [
  `-c tcp_keepalives_idle=${postgresLimits.databaseKeepAliveSeconds}`,
  `-c tcp_keepalives_interval=${postgresLimits.databaseKeepAliveSeconds}`,
  `-c tcp_keepalives_count=${postgresLimits.databaseKeepAlivesMax}`,
]

/** Names in SQL are not qualified: the connection's search_path selects the schema. Options in the URL come first. */
const addressOf = ({ url, schema }: SchemaLocation): string => {
  assertSchemaName(schema)
  const address = new URL(url)
  const own = address.searchParams.get('options') ?? ''
  const options = [...keepAlive, own, `-c search_path=${schema}`, '-c timezone=UTC']
  address.searchParams.set('options', options.join(' ').trim())
  return address.href
}

const typeIds = { int8: 20, int8Array: 1016, date: 1082 }

const int8sOf = (text: string): bigint[] => (text === '{}' ? [] : text.slice(1, -1).split(',').map(BigInt))

/** int8 as bigint, a date as its text; numeric is text by default. Nothing is read as a float or in a time zone. */
const exactTypes: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => {
    if (id === typeIds.int8) return BigInt
    if (id === typeIds.int8Array) return int8sOf
    if (id === typeIds.date) return String
    return pg.types.getTypeParser(id, format)
  },
}

export interface PoolOptions {
  readonly connectionsMax: number
  /** Per statement, and between two of a transaction; 0: unlimited. */
  readonly statementMs: number
}

export const openPool = (place: SchemaLocation, { connectionsMax, statementMs }: PoolOptions): pg.Pool => {
  const pool = new pg.Pool({
    connectionString: addressOf(place),
    application_name: 'gateway',
    types: exactTypes,
    max: connectionsMax,
    connectionTimeoutMillis: postgresLimits.databaseConnectMs,
    statement_timeout: statementMs,
    // A server that hangs does not apply its own timeout.
    query_timeout: statementMs,
    idle_in_transaction_session_timeout: statementMs,
    keepAlive: true,
  })
  // A broken connection fails the query on it, and that error is reported; an idle one is replaced.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** A connection on which `work` failed is closed, since its state is unknown. */
export const onConnection = async <T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect()
  let failed = true
  try {
    const result = await work(client)
    failed = false
    return result
  } finally {
    client.release(failed)
  }
}

/** SQLSTATE of a missing table and of a missing schema. */
const missing = new Set(['42P01', '3F000'])

export const nullIfMissing = async <T>(read: Promise<T>): Promise<T | null> => {
  try {
    return await read
  } catch (fault) {
    if (fault instanceof pg.DatabaseError && missing.has(fault.code ?? '')) return null
    throw fault
  }
}

const lockNotAvailable = '55P03'
const deadlockDetected = '40P01'

export const isLockFault = (fault: unknown): boolean =>
  fault instanceof pg.DatabaseError && (fault.code === lockNotAvailable || fault.code === deadlockDetected)
