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

const dropKeys = async (pool: pg.Pool, tables: readonly string[]): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
     from pg_constraint
     where contype = 'p' and conrelid = any($1::regclass[])`,
    [tables],
  )
  for (const { table, name } of rows) await pool.query(`alter table ${table} drop constraint ${name}`)
  return rows.map(({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`)
}

const dropPlainIndexes = async (pool: pg.Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ name: string; definition: string }>(
    `select i.indexname as name, i.indexdef as definition
     from pg_indexes i
     where i.schemaname = current_schema
       and not exists (select from pg_constraint c where c.conindid = format('%I.%I', i.schemaname, i.indexname)::regclass)`,
  )
  for (const { name } of rows) await pool.query(`drop index ${name}`)
  return rows.map(({ definition }) => definition)
}

/** Returns the statements that recreate them. Bulk tables are not searched by key meanwhile: theirs go too. */
export const dropIndexes = async (pool: pg.Pool, bulkTables: readonly string[]): Promise<readonly string[]> => [
  ...(await dropKeys(pool, bulkTables)),
  ...(await dropPlainIndexes(pool)),
]
