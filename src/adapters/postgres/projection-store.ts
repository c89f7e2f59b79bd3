import pg from 'pg'
import { type LedgerSnapshot, loadLedger } from '../../projections/load-ledger.ts'
import type { ReadModels } from '../../projections/tables.ts'
import { type ProjectionBatch, type ProjectionStore, RefusedRows } from '../../roles/projector/ports.ts'
import { onConnection } from './connection.ts'
import { writeRows } from './write-rows.ts'

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

export interface ProjectionStoreParts {
  readonly pool: pg.Pool
  readonly db: ReadModels
  readonly prepare: () => Promise<void>
}

export class PostgresProjectionStore implements ProjectionStore {
  readonly #parts: ProjectionStoreParts
  #prepared = false

  constructor(parts: ProjectionStoreParts) {
    this.#parts = parts
  }

  async load(): Promise<LedgerSnapshot> {
    if (!this.#prepared) await this.#parts.prepare()
    this.#prepared = true
    return loadLedger(this.#parts.db)
  }

  apply(batch: ProjectionBatch): Promise<boolean> {
    return withRowErrors(
      batch,
      onConnection(this.#parts.pool, (client) => applyBatch(client, batch)),
    )
  }

  async checkpoint(): Promise<number> {
    const { rows } = await this.#parts.pool.query<{ sequence: bigint }>('select sequence from checkpoint')
    return Number(rows[0]?.sequence)
  }
}

/** A crash of the server may lose the last commits, rows and checkpoint together: the projector resumes there. */
export const beginWithoutWaitingForDisk = 'begin; set local synchronous_commit = off'

/** False, with nothing written, where the checkpoint is at another sequence. */
export const applyBatch = async (client: pg.ClientBase, batch: ProjectionBatch): Promise<boolean> => {
  await client.query(beginWithoutWaitingForDisk)
  const moved = await moveCheckpoint(client, batch)
  if (moved) await writeRows(client, batch.rows)
  await client.query(moved ? 'commit' : 'rollback')
  return moved
}

/** First in the transaction: its lock keeps others from moving it, and from swapping tables, until the end. */
const moveCheckpoint = async (client: pg.ClientBase, batch: ProjectionBatch): Promise<boolean> => {
  const { rowCount } = await client.query(
    `update checkpoint
     set sequence = $1, first_frame = coalesce(first_frame, $2), places_to = case when places_to = sequence then $1 else places_to end
     where sequence = $3`,
    [batch.toSequence, batch.firstFrame, batch.fromSequence],
  )
  return rowCount === 1
}
