import pg from 'pg'
import { selectPosition } from '../../projections/checkpoint/queries.ts'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import type { ReadModels } from '../../projections/schema/tables.ts'
import { type ModelVersions, selectVersions, versionsOf } from '../../projections/versions.ts'
import {
  type ProjectionBatch,
  type ProjectionStore,
  RefusedRows,
  type TablesPosition,
} from '../../roles/projector/ports.ts'
import { onConnection } from './connection.ts'
import { writeChanges } from './write-rows.ts'

/** SQLSTATE classes that no retry mends: data exceptions, violated constraints, exceeded limits of the program. */
const refusalClasses = ['22', '23', '54']

const isRowError = (fault: unknown): fault is pg.DatabaseError =>
  fault instanceof pg.DatabaseError && refusalClasses.includes(fault.code?.slice(0, 2) ?? '')

export const withRowErrors = async <T>(
  { fromSequence, toSequence }: ProjectionBatch,
  writing: Promise<T>,
): Promise<T> => {
  try {
    return await writing
  } catch (fault) {
    if (!isRowError(fault)) throw fault
    throw new RefusedRows(`the rows of frames ${fromSequence + 1} to ${toSequence} are refused: ${fault.message}`, {
      cause: fault,
    })
  }
}

interface ProjectionStoreParts {
  readonly pool: pg.Pool
  readonly db: ReadModels
  readonly models: readonly ReadModel[]
  readonly prepare: () => Promise<void>
}

export class PostgresProjectionStore implements ProjectionStore {
  readonly #parts: ProjectionStoreParts
  #prepared = false

  constructor(parts: ProjectionStoreParts) {
    this.#parts = parts
  }

  async load(): Promise<TablesPosition> {
    if (!this.#prepared) await this.#parts.prepare()
    this.#prepared = false // The operator may drop the tables, to have them made anew.
    await adoptVersions(this.#parts.pool, this.#parts.models)
    const position = await readPosition(this.#parts.db)
    this.#prepared = true
    return position
  }

  apply(batch: ProjectionBatch): Promise<boolean> {
    return writeBatch(this.#parts.pool, batch)
  }

  async checkpoint(): Promise<number> {
    const { rows } = await this.#parts.pool.query<{ sequence: bigint }>('select sequence from checkpoint')
    return Number(rows[0]?.sequence)
  }

  versions(): Promise<ModelVersions> {
    return selectVersions(this.#parts.db)
  }
}

/** In one snapshot: a swap of rebuilt tables waits for readers of the checkpoint. */
export const readPosition = (db: ReadModels): Promise<TablesPosition> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      return { ...(await selectPosition(trx)), versions: await selectVersions(trx) }
    })

const toJson = (versions: ModelVersions): string => JSON.stringify(Object.fromEntries(versions))

/** Tables without any frame are as every version makes them. */
const adoptVersions = async (pool: pg.Pool, models: readonly ReadModel[]): Promise<void> => {
  await pool.query(
    `with empty as (select from checkpoint where sequence = 0 for update)
     insert into read_models (name, version)
     select key, value::int4 from empty, json_each_text($1)
     on conflict (name) do update set version = excluded.version where read_models.version < excluded.version`,
    [toJson(versionsOf(models))],
  )
}

export const writeVersions = async (
  client: pg.ClientBase | pg.Pool,
  models: readonly ReadModel[],
  table = 'read_models',
): Promise<void> => {
  await client.query(
    `insert into ${table} (name, version)
     select key, value::int4 from json_each_text($1)
     on conflict (name) do update set version = excluded.version`,
    [toJson(versionsOf(models))],
  )
}

export const writeBatch = (pool: pg.Pool, batch: ProjectionBatch): Promise<boolean> =>
  withRowErrors(
    batch,
    onConnection(pool, (client) => applyBatch(client, batch)),
  )

/** A crash of the server may lose the last commits, rows and checkpoint together: the projector resumes there. */
export const beginWithoutWaitingForDisk = 'begin; set local synchronous_commit = off'

/** False, with nothing written, where the checkpoint is at another sequence, or a newer program made a table. */
export const applyBatch = async (client: pg.ClientBase, batch: ProjectionBatch): Promise<boolean> => {
  await client.query(beginWithoutWaitingForDisk)
  const moved = await moveCheckpoint(client, batch)
  if (moved) await writeChanges(client, batch.changes)
  await client.query(moved ? 'commit' : 'rollback')
  return moved
}

/** First in the transaction: its lock keeps others from moving it, and from swapping tables, until the end. */
const moveCheckpoint = async (client: pg.ClientBase, batch: ProjectionBatch): Promise<boolean> => {
  const { rowCount } = await client.query(
    `update checkpoint
     set sequence = $1, first_frame = coalesce(first_frame, $2), last_frame = $5, last_frame_sequence = $1,
       places_to = case when places_to = sequence then $1 else places_to end
     where sequence = $3
       and not exists (select from read_models where version > coalesce(($4::json ->> name)::int4, 0))`,
    [batch.toSequence, batch.firstFrame, batch.fromSequence, toJson(batch.versions), batch.lastFrame],
  )
  return rowCount === 1
}
