import { Kysely, PostgresDialect } from 'kysely'
import { limits } from '../../limits.ts'
import type { ReadModels, Tables } from '../../read-models/tables.ts'
import { findWallet } from '../../read-models/wallet.ts'
import { defaultSchema, openPool, type PoolOptions } from './connection.ts'
import { migrate } from './migrate.ts'
import { PostgresProjectionStore } from './projection-store.ts'

/** The read models of one schema. Nothing connects before it is used, so a database that is away stops nobody from starting. */
export interface Database {
  readonly db: ReadModels
  /** What the projector writes through; makes the tables where they are missing. */
  projectionStore(): PostgresProjectionStore
  /** What an edge reads. */
  billing(): { readonly findBilling: (workspaceId: string) => ReturnType<typeof findWallet> }
  close(): Promise<void>
}

const servingPool: PoolOptions = {
  connectionsMax: limits.databaseConnectionsMax,
  statementMs: limits.databaseStatementMs,
}

export const openDatabase = (
  url: string,
  schema: string = defaultSchema,
  options: PoolOptions = servingPool,
): Database => {
  const place = { url, schema }
  const pool = openPool(place, options)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    db,
    projectionStore: () => new PostgresProjectionStore({ pool, db, prepare: () => migrate(place) }),
    billing: () => ({ findBilling: (workspaceId) => findWallet(db, workspaceId) }),
    close: () => pool.end(),
  }
}
