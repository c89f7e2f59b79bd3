import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import { assertSchemaName, type SchemaLocation } from './connection.ts'
import { postgresLimits } from './limits.ts'

const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url))

/** node-pg-migrate's record of applied migrations, in the same schema. */
export const migrationsTable = 'migrations'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Creates or updates a schema. Several processes may call it at once; rejects when the database cannot be reached. */
export const migrate = async ({ url, schema }: SchemaLocation): Promise<void> => {
  assertSchemaName(schema)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: postgresLimits.databaseConnectMs })
  // A broken connection fails its query too, and that error is reported.
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
