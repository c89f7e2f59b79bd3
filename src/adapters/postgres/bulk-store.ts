import type pg from 'pg'
import type { ProjectedRows, ProjectionBatch, ProjectionStore } from '../../roles/projector/ports.ts'
import { onConnection } from './connection.ts'
import { applyBatch, beginWithoutWaitingForDisk, withRowErrors } from './projection-store.ts'
import { insertRows } from './write-rows.ts'

/** The largest tables. Their rows are written once, and not read while a rebuild loads them. */
export const bulkTables = ['requests', 'usage_entries', 'wallet_entries'] as const

type BulkTable = (typeof bulkTables)[number]

const nothing: Pick<ProjectedRows['inserted'], BulkTable> = { requests: [], usage_entries: [], wallet_entries: [] }

/** Tables are hidden until whole, and dropped on failure: batches need no common transaction and load in parallel. */
export class BulkStore implements Pick<ProjectionStore, 'apply'> {
  readonly #pool: pg.Pool

  /** `pool` needs one connection more than there are bulk tables. */
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
    // Rejects only when all of them have ended.
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
