import type pg from 'pg'
import type { ProjectionStore } from '../../roles/projector/ports.ts'
import { BulkStore, bulkTables } from './bulk-store.ts'
import { compareTable, listTables, type TableComparison } from './compare.ts'
import { onConnection, openPool, type PoolOptions, type SchemaLocation } from './connection.ts'
import { migrate, migrationsTable } from './migrate.ts'

/** Loads, index builds and comparisons take as long as they need. */
const patientPool: PoolOptions = { connectionsMax: bulkTables.length + 1, statementMs: 0 }

export type ProjectTo = (sequence: number) => Promise<void>

/** Drops the leftovers of an interrupted rebuild; a second concurrent rebuild of a schema is refused. */
export class Rebuild {
  readonly #live: SchemaLocation
  readonly #fresh: SchemaLocation
  readonly #retired: string
  readonly #livePool: pg.Pool
  readonly #freshPool: pg.Pool
  #tables: readonly string[] = []
  #indexes: readonly string[] = []

  private constructor(live: SchemaLocation) {
    this.#live = live
    this.#fresh = { url: live.url, schema: `${live.schema}_rebuild` }
    this.#retired = `${live.schema}_retired`
    this.#livePool = openPool(live, patientPool)
    this.#freshPool = openPool(this.#fresh, patientPool)
  }

  /** Afterwards drops the fresh tables, or the retired ones after a swap. */
  static async run<T>(live: SchemaLocation, work: (rebuild: Rebuild) => Promise<T>): Promise<T> {
    await migrate(live)
    const rebuild = new Rebuild(live)
    try {
      return await onConnection(rebuild.#livePool, async (client) => {
        await lockRebuild(client, live.schema)
        await rebuild.#begin()
        const result = await work(rebuild)
        await rebuild.#dropLeftovers()
        await unlockRebuild(client, live.schema)
        return result
      })
    } finally {
      await rebuild.#close()
    }
  }

  get store(): Pick<ProjectionStore, 'apply'> {
    return new BulkStore(this.#freshPool)
  }

  async liveSequence(): Promise<number> {
    return readSequence(this.#livePool)
  }

  /** Call it when most rows are loaded: it makes keys, indexes and the planner's statistics. */
  async finishLoading(): Promise<void> {
    await Promise.all(this.#indexes.map((index) => this.#freshPool.query(index)))
    await this.#freshPool.query(`analyze ${this.#tables.join(', ')}`)
  }

  get tables(): readonly string[] {
    return this.#tables
  }

  /** Compares the named tables at the live checkpoint; the live tables may be written meanwhile. */
  compare(
    names: readonly string[],
    bringTo: ProjectTo,
    onTable: (comparison: TableComparison) => void,
  ): Promise<readonly TableComparison[]> {
    return inSnapshot(this.#livePool, async (live) => {
      await bringTo(await readSequence(live))
      return inSnapshot(this.#freshPool, async (fresh) => {
        const comparisons: TableComparison[] = []
        for (const table of (await listTables(live, migrationsTable)).filter(({ name }) => names.includes(name))) {
          const comparison = await compareTable(live, fresh, table)
          comparisons.push(comparison)
          onTable(comparison)
        }
        return comparisons
      })
    })
  }

  /** At the live checkpoint. A projector waits meanwhile; readers wait only where tables are named, for a moment. */
  async swap(bringTo: ProjectTo, names: readonly string[] | null = null): Promise<void> {
    await bringTo(await this.liveSequence())
    await onConnection(this.#livePool, async (client) => {
      await client.query('begin')
      // All writers, and readers of a whole ledger, use this table first: its lock is kept until their transaction
      // ends.
      await client.query('lock table checkpoint in access exclusive mode')
      await bringTo(await readSequence(client))
      for (const statement of names === null ? this.#swapOfAll() : this.#swapOf(names)) await client.query(statement)
      await client.query('commit')
    })
  }

  #swapOfAll(): readonly string[] {
    return [
      `alter schema ${this.#live.schema} rename to ${this.#retired}`,
      `alter schema ${this.#fresh.schema} rename to ${this.#live.schema}`,
    ]
  }

  /** Both sides are at one sequence, and no table refers to another: any of them can be replaced alone. */
  #swapOf(names: readonly string[]): readonly string[] {
    return [
      `create schema ${this.#retired}`,
      ...names.flatMap((name) => [
        `alter table ${this.#live.schema}.${name} set schema ${this.#retired}`,
        `alter table ${this.#fresh.schema}.${name} set schema ${this.#live.schema}`,
      ]),
    ]
  }

  async #begin(): Promise<void> {
    await this.#dropLeftovers()
    await migrate(this.#fresh)
    const tables = await onConnection(this.#freshPool, (client) => listTables(client, migrationsTable))
    this.#tables = tables.map(({ name }) => name)
    this.#indexes = [...(await dropKeys(this.#freshPool)), ...(await dropIndexes(this.#freshPool))]
  }

  /** Not in the transaction that renames: it waits for readers of the retired tables. */
  async #dropLeftovers(): Promise<void> {
    for (const schema of [this.#fresh.schema, this.#retired])
      await this.#livePool.query(`drop schema if exists ${schema} cascade`)
  }

  async #close(): Promise<void> {
    await Promise.all([this.#livePool.end(), this.#freshPool.end()])
  }
}

const lockName = 'hashtext($1)'
const lockRebuild = async (client: pg.ClientBase, schema: string): Promise<void> => {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${lockName}) as locked`, [
    `rebuild of ${schema}`,
  ])
  if (!rows[0]?.locked) throw new Error(`the schema ${schema} is being rebuilt by another process`)
}

const unlockRebuild = async (client: pg.ClientBase, schema: string): Promise<void> => {
  await client.query(`select pg_advisory_unlock(${lockName})`, [`rebuild of ${schema}`])
}

const readSequence = async (client: pg.Pool | pg.ClientBase): Promise<number> => {
  const { rows } = await client.query<{ sequence: bigint }>('select sequence from checkpoint')
  return Number(rows[0]?.sequence)
}

/** Bulk tables are not searched by key meanwhile. Returns the statements that recreate the keys. */
const dropKeys = async (pool: pg.Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
     from pg_constraint
     where contype = 'p' and conrelid = any($1::regclass[])`,
    [bulkTables],
  )
  for (const { table, name } of rows) await pool.query(`alter table ${table} drop constraint ${name}`)
  return rows.map(({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`)
}

/** Drops every index that backs no constraint. Returns the statements that recreate them. */
const dropIndexes = async (pool: pg.Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ name: string; definition: string }>(
    `select i.indexname as name, i.indexdef as definition
     from pg_indexes i
     where i.schemaname = current_schema
       and not exists (select from pg_constraint c where c.conindid = format('%I.%I', i.schemaname, i.indexname)::regclass)`,
  )
  for (const { name } of rows) await pool.query(`drop index ${name}`)
  return rows.map(({ definition }) => definition)
}

const inSnapshot = <T>(pool: pg.Pool, work: (client: pg.ClientBase) => Promise<T>): Promise<T> =>
  onConnection(pool, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const result = await work(client)
    await client.query('commit')
    return result
  })
