import type pg from 'pg'
import type { ProjectedRows, ProjectionBatch, ProjectionStore } from '../../roles/projector/ports.ts'
import { onConnection } from './connection.ts'
import { applyBatch, beginWithoutWaitingForDisk, withRowErrors } from './projection-store.ts'
import { insertRows } from './write-rows.ts'

/** The largest tables. Their rows are written once, and nobody looks for one of them while others come. */
export const bulkTables = ['requests', 'usage_entries', 'wallet_entries'] as const

type BulkTable = (typeof bulkTables)[number]

const nothing: Pick<ProjectedRows['inserted'], BulkTable> = { requests: [], usage_entries: [], wallet_entries: [] }

/**
 * Writes tables that nobody sees yet, and that are dropped where their making ends early: a batch needs no transaction of its own, so
 * each of the largest tables has a connection, beside one for all others and the checkpoint.
 */
export class BulkStore implements Pick<ProjectionStore, 'apply'> {
  readonly #pool: pg.Pool

  /** `pool` is to have a connection more than there are bulk tables. */
  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async apply(batch: ProjectionBatch): Promise<boolean> {
    const { rows } = batch
    const others = { ...batch, rows: { ...rows, inserted: { ...rows.inserted, ...nothing } } }
    const writing = [
      onConnection(this.#pool, (client) => applyBatch(client, others)),
      ...bulkTables.map((table) => this.#insert(table, rows.inserted[table])),
    ]
    // A fault is told when none of them writes any more.
    const moved = await withRowErrors(
      batch,
      Promise.allSettled(writing).then(() => Promise.all(writing)),
    )
    return moved.every(Boolean)
  }

  #insert(table: BulkTable, rows: ProjectedRows['inserted'][BulkTable]): Promise<boolean> {
    return onConnection(this.#pool, async (client) => {
      await client.query(beginWithoutWaitingForDisk)
      await insertRows(client, table, rows)
      await client.query('commit')
      return true
    })
  }
}
