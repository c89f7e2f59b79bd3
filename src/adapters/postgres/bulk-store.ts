import { once } from 'node:events'
import type pg from 'pg'
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams'
import type { ReadModel, Row } from '../../projections/schema/read-model.ts'
import type { ProjectionBatch, ProjectionStore, TableChanges } from '../../roles/projector/ports.ts'
import { onConnection } from './connection.ts'
import { applyBatch, withRowErrors, writeBatch } from './projection-store.ts'
import { toCopyText } from './row-text.ts'

type LoadedTable = Pick<TableChanges, 'table' | 'definition'>

/**
 * One COPY into a table that no other connection uses, in the transaction that empties it: such rows are written once,
 * and not to the server's own log first where it has no replicas.
 */
class TableLoad {
  readonly #client: pg.PoolClient
  readonly #columns: readonly string[]
  readonly #copy: CopyStreamQuery
  #fault: Error | null = null

  private constructor(client: pg.PoolClient, { table, definition }: LoadedTable) {
    this.#client = client
    this.#columns = Object.keys(definition.columns)
    this.#copy = client.query(copyFrom(`copy ${table} (${this.#columns.join(', ')}) from stdin with (freeze)`))
    this.#copy.on('error', (fault) => {
      this.#fault ??= fault
    })
  }

  static async open(pool: pg.Pool, named: LoadedTable): Promise<TableLoad> {
    const client = await pool.connect()
    try {
      await client.query(`begin; truncate ${named.table}`)
      return new TableLoad(client, named)
    } catch (fault) {
      client.release(true)
      throw fault
    }
  }

  /** Resolves when they are sent. What is wrong with a row rejects this call or a later one. */
  async write(rows: readonly Row[]): Promise<void> {
    for (const chunk of toCopyText(this.#columns, rows)) {
      if (this.#fault !== null) throw this.#fault
      if (!this.#copy.write(chunk)) await once(this.#copy, 'drain')
    }
  }

  async finish(): Promise<void> {
    if (this.#fault !== null) throw this.#fault
    this.#copy.end()
    await once(this.#copy, 'finish')
    await this.#client.query('commit')
    this.#client.release()
  }

  /** Its rows are gone. */
  abandon(): void {
    this.#client.release(true)
  }
}

/** Tables are hidden until whole, and dropped on failure: what is loaded and what is written need no common transaction. */
export class BulkStore implements Pick<ProjectionStore, 'apply'> {
  readonly #pool: pg.Pool
  readonly #loads = new Map<string, TableLoad>()
  #loadedTo = 0

  /** `pool` needs one connection more than there are bulk tables. */
  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Empties the bulk tables. Until `finishLoading` nothing else can read or write them. */
  async beginLoading(models: readonly ReadModel[]): Promise<void> {
    for (const { tables } of models)
      for (const [table, definition] of Object.entries(tables))
        if (definition.isBulk) this.#loads.set(table, await TableLoad.open(this.#pool, { table, definition }))
  }

  async apply(batch: ProjectionBatch): Promise<boolean> {
    if (this.#loads.size === 0) return writeBatch(this.#pool, batch)
    this.#loadedTo = batch.toSequence
    const others = batch.changes.filter(({ table }) => !this.#loads.has(table))
    const loading = batch.changes.map(({ table, written }) => this.#loads.get(table)?.write(written))
    const writing = onConnection(this.#pool, (client) => applyBatch(client, { ...batch, changes: others }))
    return this.#withRowErrors(Promise.all([writing, ...loading]).then(([moved]) => moved))
  }

  async finishLoading(): Promise<void> {
    const finish = async ([table, load]: readonly [string, TableLoad]): Promise<void> => {
      await load.finish()
      this.#loads.delete(table)
    }
    await this.#withRowErrors(Promise.all(Array.from(this.#loads, finish)))
  }

  /** Ends what is still being loaded; its rows are gone. */
  abandon(): void {
    for (const load of this.#loads.values()) load.abandon()
    this.#loads.clear()
  }

  /** A row may be refused when later ones were sent. */
  #withRowErrors<T>(writing: Promise<T>): Promise<T> {
    return withRowErrors({ fromSequence: 0, toSequence: this.#loadedTo }, writing)
  }
}
