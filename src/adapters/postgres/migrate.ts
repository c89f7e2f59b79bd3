import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import { assertSchemaName, type SchemaLocation } from './connection.ts'
import { postgresLimits } from './limits.ts'

const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url))

/** Where `node-pg-migrate` keeps the names of what it ran, beside the tables it made. */
export const migrationsTable = 'migrations'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Brings a schema up to date, and makes it where it is missing. Several processes may do so at once; rejects when the database cannot be reached. */
export const migrate = async ({ url, schema }: SchemaLocation): Promise<void> => {
  assertSchemaName(schema)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: postgresLimits.databaseConnectMs })
  // A connection that breaks fails its query too, and that is where it is told.
  client.on('error', () => {})
  try {
    await client.connect()
    await runner({
      dbClient: client,
      dir: migrationsFolder,
      direction: 'up',
      schema,
      createSchema: true,
      migrationsTable,
      singleTransaction: true,
      advisoryLockMode: 'wait',
      logger: silent,
    })
  } finally {
    await client.end()
  }
}
