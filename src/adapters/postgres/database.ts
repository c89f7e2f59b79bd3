import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import type { SignedHeadStore } from '../../audit/signed-head.ts'
import { atCheckpoint, type CheckPosition } from '../../projections/checkpoint/queries.ts'
import { readModels } from '../../projections/read-models.ts'
import { findStoredResponse } from '../../projections/requests/queries.ts'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import type { ReadModels, Tables } from '../../projections/schema/tables.ts'
import { findLastSeal, type SealRecord } from '../../projections/seals/queries.ts'
import { findTask, selectTasks } from '../../projections/tasks/queries.ts'
import { type ModelVersions, selectVersions } from '../../projections/versions.ts'
import type { EdgeReadModels } from '../../read-api/read-models.ts'
import type { TablesPosition } from '../../roles/projector/ports.ts'
import type { StoredTasks } from '../../roles/recent-tasks.ts'
import type { StoredResponseTables } from '../../roles/stored-responses.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import {
  defaultSchema,
  nullIfMissing,
  openPool,
  type PoolOptions,
  rebuildSchema,
  type SchemaLocation,
} from './connection.ts'
import { edgeReadModels } from './edge-read-models.ts'
import { postgresLimits } from './limits.ts'
import { migrate } from './migrate.ts'
import { PostgresProjectionStore, readPosition } from './projection-store.ts'
import { Rebuild } from './rebuild.ts'
import { openHeadTable } from './signed-head.ts'

/** The read models of one schema. Connects on first use, so that processes start while the database is down. */
export interface Database {
  readonly db: ReadModels
  projectionStore(models?: readonly ReadModel[]): PostgresProjectionStore
  /** Sequence up to which the tables are written; 0 where there are none yet. */
  checkpoint(): Promise<number>
  /** Null where there are no tables yet. */
  position(): Promise<TablesPosition | null>
  /** Of the read models' tables; empty where there are none yet. */
  versions(): Promise<ModelVersions>
  /** Sequence up to which tables are filled beside the live ones; null where none are. */
  refillSequence(): Promise<number | null>
  /** The checkpoint with the greatest size that the tables have; null where there is none. */
  lastSeal(): Promise<SealRecord | null>
  /** `checkPosition` refuses what it throws for. What is read for workspaces leaves connections for all else. */
  readModels(checkPosition?: CheckPosition): EdgeReadModels
  /** What the sealer signed last; apart from the read models, which are rebuilt. */
  signedHead(): SignedHeadStore
  tasks(checkPosition?: CheckPosition): StoredTasks
  responses(checkPosition?: CheckPosition): StoredResponseTables
  close(): Promise<void>
}

const checkpointOf = async (db: ReadModels): Promise<number> => {
  const row = await nullIfMissing(db.selectFrom('checkpoint').select('sequence').executeTakeFirstOrThrow())
  return Number(row?.sequence ?? 0)
}

const refillSequenceOf = async (pool: pg.Pool, schema: string): Promise<number | null> => {
  const text = `select sequence from ${rebuildSchema(schema)}.checkpoint`
  const found = await nullIfMissing(pool.query<{ sequence: bigint }>(text))
  return found?.rows[0] === undefined ? null : Number(found.rows[0].sequence)
}

const prepare = async (place: SchemaLocation): Promise<void> => {
  await migrate(place)
  await Rebuild.dropAbandoned(place)
}

const operator = ''

const servingPool: PoolOptions = {
  connectionsMax: postgresLimits.databaseConnectionsMax,
  statementMs: postgresLimits.databaseStatementMs,
}

/** For an operator's commands, which read whole months, and end at Ctrl-C: queries, and cursors between reads, take as long as they need. */
export const patientPool: PoolOptions = { ...servingPool, statementMs: 0 }

export const openDatabase = (
  url: string,
  schema: string = defaultSchema,
  options: PoolOptions = servingPool,
): Database => {
  const place = { url, schema }
  const pool = openPool(place, options)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const reads = new Semaphore(postgresLimits.databaseReadsMax, {
    ms: postgresLimits.databaseConnectMs,
    late: () => new Error('too many reads of the tables wait'),
  })
  const readInTurn =
    (checkPosition?: CheckPosition): Parameters<typeof edgeReadModels>[0] =>
    (workspaceId = operator, read) =>
      reads.run(workspaceId, () => atCheckpoint(db, read, checkPosition))
  return {
    db,
    projectionStore: (models = readModels) =>
      new PostgresProjectionStore({ pool, db, models, prepare: () => prepare(place) }),
    checkpoint: () => checkpointOf(db),
    position: () => nullIfMissing(readPosition(db)),
    versions: async () => (await nullIfMissing(selectVersions(db))) ?? new Map(),
    refillSequence: () => refillSequenceOf(pool, schema),
    lastSeal: async () => (await nullIfMissing(findLastSeal(db))) ?? null,
    readModels: (checkPosition) => edgeReadModels(readInTurn(checkPosition)),
    signedHead: () => openHeadTable(pool, schema),
    tasks: (checkPosition) => ({
      findTask: async (workspaceId, taskId) =>
        (await readInTurn(checkPosition)(workspaceId, (trx) => findTask(trx, workspaceId, taskId))).value,
      listTasks: async (workspaceId, kind, page) =>
        (await readInTurn(checkPosition)(workspaceId, (trx) => selectTasks(trx, workspaceId, kind, page))).value,
      checkpoint: () => checkpointOf(db),
    }),
    responses: (checkPosition) => ({
      findStored: async (responseId, workspaceId) =>
        (await readInTurn(checkPosition)(workspaceId, (trx) => findStoredResponse(trx, responseId))).value,
      checkpoint: () => checkpointOf(db),
    }),
    close: () => pool.end(),
  }
}
