import { fileURLToPath } from 'node:url'
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate'
import pg from 'pg'
import { assertSchemaName, isLockFault, type SchemaLocation } from './connection.ts'
import { postgresLimits } from './limits.ts'

const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url))

/** node-pg-migrate's record of applied migrations, in the same schema. */
export const migrationsTable = 'migrations'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const isMade = async (client: pg.Client, schema: string): Promise<boolean> => {
  const { rowCount } = await client.query('select where to_regclass($1) is not null', [`${schema}.${migrationsTable}`])
  return rowCount === 1
}

/** Readers of a table wait behind a migration that waits for one of them: it does not wait for long. */
const waitForOthers = async (client: pg.Client): Promise<void> => {
  await client.query(`select pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`)
  await client.query(`set lock_timeout = ${postgresLimits.tableLockMs}`)
}

/** Creates or updates a schema, of several processes at once too. Rejects where the database, or a lock within it, cannot be had. */
export const migrate = async ({ url, schema }: SchemaLocation): Promise<void> => {
  assertSchemaName(schema)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: postgresLimits.databaseConnectMs })
  // A broken connection fails its query too, and that error is reported.
  client.on('error', () => {})
  try {
    await client.connect()
    await waitForOthers(client)
    await runner({
      dbClient: client,
      dir: migrationsFolder,
      direction: 'up',
      schema,
      createSchema: true,
      migrationsTable,
      // Of tables in use each by itself: a changed one would be locked until the indexes of others are built.
      singleTransaction: !(await isMade(client, schema)),
      noLock: true,
      logger: silent,
    })
  } catch (fault) {
    if (!isLockFault(fault)) throw fault
    throw new Error('a migration waits for a transaction that uses a table which it changes', { cause: fault })
  } finally {
    await client.end()
  }
}
