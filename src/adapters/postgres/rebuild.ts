import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { readModels } from '../../projections/read-models.ts'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import { type ProjectionStore, RebuildRunning } from '../../roles/projector/ports.ts'
import { BulkStore, dropIndexes } from './bulk-store.ts'
import { compareTable, listTables, type TableComparison } from './compare.ts'
import {
  isLockFault,
  nullIfMissing,
  onConnection,
  openPool,
  type PoolOptions,
  rebuildSchema,
  type SchemaLocation,
} from './connection.ts'
import { postgresLimits } from './limits.ts'
import { migrate, migrationsTable } from './migrate.ts'
import { writeBatch, writeVersions } from './projection-store.ts'

const unprojectedTables = [migrationsTable, 'read_models']

const bulkTables = readModels.flatMap(({ tables }) =>
  Object.entries(tables).flatMap(([table, { isBulk }]) => (isBulk ? [table] : [])),
)

type ModelVersion = Pick<ReadModel, 'name' | 'version'>

/** Loads, index builds and comparisons take as long as they need. */
const patientPool: PoolOptions = { connectionsMax: bulkTables.length + 1, statementMs: 0 }

export type ProjectTo = (sequence: number) => Promise<void>

interface RebuildOptions {
  /** Default: all. */
  readonly models?: readonly ReadModel[]
  /** Resumes what was filled before with the same versions, at the cost of slower writes. */
  readonly isResumable?: boolean
}

/** Drops the leftovers of an interrupted rebuild; a second concurrent rebuild of a schema is refused. */
export class Rebuild {
  readonly #live: SchemaLocation
  readonly #fresh: SchemaLocation
  readonly #livePool: pg.Pool
  readonly #freshPool: pg.Pool
  readonly #options: Required<RebuildOptions>
  #lock: pg.ClientBase | null = null
  #tables: readonly string[] = []
  #indexes: readonly string[] = []

  private constructor(live: SchemaLocation, { models = readModels, isResumable = false }: RebuildOptions) {
    this.#options = { models, isResumable }
    this.#live = live
    this.#fresh = { url: live.url, schema: rebuildSchema(live.schema) }
    this.#livePool = openPool(live, patientPool)
    this.#freshPool = openPool(this.#fresh, patientPool)
  }

  /** Afterwards drops the fresh tables, or the retired ones after a swap. */
  static async run<T>(
    live: SchemaLocation,
    work: (rebuild: Rebuild) => Promise<T>,
    options: RebuildOptions = {},
  ): Promise<T> {
    await migrate(live)
    const rebuild = new Rebuild(live, options)
    try {
      return await onConnection(rebuild.#livePool, async (client) => {
        if (!(await lockRebuild(client, live.schema)))
          throw new RebuildRunning(`the schema ${live.schema} is being rebuilt by another process`)
        rebuild.#lock = client
        await rebuild.#begin()
        const result = await work(rebuild)
        await rebuild.#dropLeftovers()
        await unlockRebuild(client, live.schema)
        return result
      })
    } finally {
      await Promise.all([rebuild.#livePool.end(), rebuild.#freshPool.end()])
    }
  }

  /** Drops what a killed rebuild has left, unless another one is running or goes on. What is still read, or another role's, stays. */
  static async dropAbandoned(live: SchemaLocation): Promise<void> {
    const pool = openPool(live, { ...patientPool, connectionsMax: 1 })
    try {
      await onConnection(pool, async (client) => {
        if (!(await lockRebuild(client, live.schema))) return
        await client.query(`set lock_timeout = ${postgresLimits.swapLockMs}`)
        await client.query(`drop schema if exists ${retiredSchema(live)} cascade`)
        const fresh = rebuildSchema(live.schema)
        if (!(await isFilledOn(client, fresh))) await client.query(`drop schema if exists ${fresh} cascade`)
        await unlockRebuild(client, live.schema)
      })
    } catch (fault) {
      if (!(fault instanceof pg.DatabaseError)) throw fault
    } finally {
      await pool.end()
    }
  }

  get store(): Pick<ProjectionStore, 'apply'> {
    return this.#options.isResumable
      ? { apply: (batch) => writeBatch(this.#freshPool, batch) }
      : new BulkStore(this.#freshPool)
  }

  async liveSequence(): Promise<number> {
    return readSequence(this.#livePool)
  }

  async freshSequence(): Promise<number> {
    return readSequence(this.#freshPool)
  }

  /** Call it when most rows are loaded: it makes keys, indexes and the planner's statistics. */
  async finishLoading(): Promise<void> {
    await Promise.all(this.#indexes.map((index) => this.#freshPool.query(index)))
    await Promise.all(this.#tables.map((table) => this.#freshPool.query(`analyze ${table}`)))
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
        for (const table of (await listTables(live, unprojectedTables)).filter(({ name }) => names.includes(name))) {
          const comparison = await compareTable(live, fresh, table)
          comparisons.push(comparison)
          onTable(comparison)
        }
        return comparisons
      })
    })
  }

  /** At the live checkpoint, once no long transaction reads the tables; others wait for moments only. */
  async swap(bringTo: ProjectTo, names: readonly string[] | null = null): Promise<void> {
    for (;;) {
      await bringTo(await this.liveSequence())
      // A server that crashed has ended this connection, and may have lost rows; without the lock, another rebuild may have begun.
      await this.#lock?.query('select')
      const isSwapped = await unlessRead(this.#livePool, async (client) => {
        // Writers, and readers of a whole ledger, lock this table first and until their end.
        await client.query('lock table checkpoint in access exclusive mode')
        await bringTo(await readSequence(client))
        await client.query(`set local lock_timeout = ${postgresLimits.tableLockMs}`)
        const schemas = [this.#live.schema, this.#fresh.schema, retiredSchema(this.#live)] as const
        for (const statement of names === null ? swapOfAll(...schemas) : swapOf(names, ...schemas))
          await client.query(statement)
        const { models } = this.#options
        const swapped = names === null ? models : models.filter((model) => hasAllTables(names, model))
        await writeVersions(client, swapped, `${this.#live.schema}.read_models`)
      })
      if (isSwapped) return
      await delay(postgresLimits.swapRetryMs)
    }
  }

  async #begin(): Promise<void> {
    const { models, isResumable } = this.#options
    await dropSchema(this.#livePool, retiredSchema(this.#live))
    const [live, fresh] = [this.#live.schema, this.#fresh.schema]
    if (!isResumable || !(await canResume(this.#livePool, live, fresh, models))) {
      await dropSchema(this.#livePool, fresh)
      await migrate(this.#fresh)
      await this.#freshPool.query('delete from read_models')
    }
    const tables = await onConnection(this.#freshPool, (client) => listTables(client, unprojectedTables))
    this.#tables = tables.map(({ name }) => name)
    if (isResumable) await writeVersions(this.#freshPool, models)
    else this.#indexes = await dropIndexes(this.#freshPool, bulkTables)
  }

  /** Not in the transaction that renames: it waits for readers of the retired tables. */
  async #dropLeftovers(): Promise<void> {
    for (const schema of [this.#fresh.schema, retiredSchema(this.#live)]) await dropSchema(this.#livePool, schema)
  }
}

const retiredSchema = ({ schema }: SchemaLocation): string => `${schema}_retired`

/** In a transaction. False, with nothing changed, where a reader keeps a lock. */
const unlessRead = (pool: pg.Pool, work: (client: pg.ClientBase) => Promise<void>): Promise<boolean> =>
  onConnection(pool, async (client) => {
    try {
      await client.query(`begin; set local lock_timeout = ${postgresLimits.swapLockMs}`)
      await work(client)
      await client.query('commit')
      return true
    } catch (fault) {
      if (!isLockFault(fault)) throw fault
      await client.query('rollback')
      return false
    }
  })

type Schemas = readonly [live: string, fresh: string, retired: string]

const swapOfAll = (...[live, fresh, retired]: Schemas): readonly string[] => [
  `alter schema ${live} rename to ${retired}`,
  `alter schema ${fresh} rename to ${live}`,
]

/** Both sides are at one sequence, and no table refers to another: any of them can be replaced alone. */
const swapOf = (names: readonly string[], ...[live, fresh, retired]: Schemas): readonly string[] => [
  `create schema ${retired}`,
  ...names.flatMap((name) => [
    `alter table ${live}.${name} set schema ${retired}`,
    `alter table ${fresh}.${name} set schema ${live}`,
  ]),
  `delete from ${fresh}.read_models`,
]

const hasAllTables = (names: readonly string[], { tables }: ReadModel): boolean =>
  Object.keys(tables).every((table) => names.includes(table))

const dropSchema = async (pool: pg.Pool, schema: string): Promise<void> => {
  await pool.query(`drop schema if exists ${schema} cascade`)
}

/** Versions mark tables whose filling can be resumed. */
const isFilledOn = async (client: pg.Pool | pg.ClientBase, fresh: string): Promise<boolean> => {
  const { rowCount } = (await nullIfMissing(client.query(`select from ${fresh}.read_models`))) ?? { rowCount: 0 }
  return rowCount !== 0
}

/** Fresh tables of these versions, made by the live ones' migrations and from their log, and not beyond them. */
const canResume = async (
  pool: pg.Pool,
  live: string,
  fresh: string,
  models: readonly ReadModel[],
): Promise<boolean> => {
  if (!(await isFilledOn(pool, fresh))) return false
  const migrations = (schema: string): string =>
    `(select array_agg(name order by id) from ${schema}.${migrationsTable})`
  const { rows } = await pool.query<ModelVersion>(
    `select r.name, r.version
     from ${fresh}.read_models r, ${fresh}.checkpoint f, ${live}.checkpoint l
     where ${migrations(fresh)} = ${migrations(live)}
       and (f.sequence = 0 or (f.sequence <= l.sequence and f.first_frame = l.first_frame))`,
  )
  return (
    rows.length === models.length &&
    rows.every((row) => models.some(({ name, version }) => name === row.name && version === row.version))
  )
}

const lockName = 'hashtext($1)'
const lockRebuild = async (client: pg.ClientBase, schema: string): Promise<boolean> => {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${lockName}) as locked`, [
    `rebuild of ${schema}`,
  ])
  return rows[0]?.locked === true
}

const unlockRebuild = async (client: pg.ClientBase, schema: string): Promise<void> => {
  await client.query(`select pg_advisory_unlock(${lockName})`, [`rebuild of ${schema}`])
}

const readSequence = async (client: pg.Pool | pg.ClientBase): Promise<number> => {
  const { rows } = await client.query<{ sequence: bigint }>('select sequence from checkpoint')
  return Number(rows[0]?.sequence)
}

const inSnapshot = <T>(pool: pg.Pool, work: (client: pg.ClientBase) => Promise<T>): Promise<T> =>
  onConnection(pool, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const result = await work(client)
    await client.query('commit')
    return result
  })
