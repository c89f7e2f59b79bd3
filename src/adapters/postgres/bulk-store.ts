import type pg from 'pg'
import type { ProjectionBatch, ProjectionStore, TableChanges } from '../../roles/projector/ports.ts'
import { onConnection } from './connection.ts'
import { applyBatch, beginWithoutWaitingForDisk, withRowErrors } from './projection-store.ts'
import { writeChanges } from './write-rows.ts'

/** Tables are hidden until whole, and dropped on failure: batches need no common transaction and load in parallel. */
export class BulkStore implements Pick<ProjectionStore, 'apply'> {
  readonly #pool: pg.Pool

  /** `pool` needs one connection more than there are bulk tables. */
  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async apply(batch: ProjectionBatch): Promise<boolean> {
    const { bulk = [], others = [] } = Object.groupBy(batch.changes, ({ definition }) =>
      definition.isBulk === true ? 'bulk' : 'others',
    )
    const writing = [
      onConnection(this.#pool, (client) => applyBatch(client, { ...batch, changes: others })),
      ...bulk.map((changes) => this.#write(changes)),
    ]
    // Rejects only when all of them have ended.
    const moved = await withRowErrors(
      batch,
      Promise.allSettled(writing).then(() => Promise.all(writing)),
    )
    return moved.every(Boolean)
  }

  #write(changes: TableChanges): Promise<boolean> {
    return onConnection(this.#pool, async (client) => {
      await client.query(beginWithoutWaitingForDisk)
      await writeChanges(client, [changes])
      await client.query('commit')
      return true
    })
  }
}
