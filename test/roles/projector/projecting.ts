import type { Test } from 'tap'
import { defaultSchema, openPool, type SchemaLocation } from '../../../src/adapters/postgres/connection.ts'
import { type Database, openDatabase } from '../../../src/adapters/postgres/database.ts'
import type { Ledger } from '../../../src/domain/ledger/ledger.ts'
import { applyFrame, initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { readModels } from '../../../src/projections/read-models.ts'
import type { ProjectionStore } from '../../../src/roles/projector/ports.ts'
import { ProjectionRun, type RunEnd } from '../../../src/roles/projector/projection-run.ts'
import type { MemoryLog } from '../../support/memory-log.ts'
import type { TestPostgres } from '../../support/postgres.ts'

export const tables: readonly string[] = ['checkpoint', ...readModels.flatMap((model) => Object.keys(model.tables))]

/** A database of a test: the store, and what is in its tables. */
export class Projected {
  readonly place: SchemaLocation
  readonly database: Database
  readonly store: ProjectionStore
  readonly #pool: ReturnType<typeof openPool>

  constructor(url: string, schema: string = defaultSchema) {
    this.place = { url, schema }
    this.database = openDatabase(url, schema)
    this.store = this.database.projectionStore()
    this.#pool = openPool(this.place, { connectionsMax: 1, statementMs: 0 })
  }

  /** Every row of every table as text, in order. */
  async texts(): Promise<readonly string[]> {
    const all: string[] = []
    for (const table of tables) {
      const { rows } = await this.#pool.query<{ row: string }>(
        `select t::text collate "C" as row from ${table} t order by 1`,
      )
      all.push(...rows.map(({ row }) => `${table} ${row}`))
    }
    return all
  }

  /** Every row of a table, each column as its text. */
  async rows(table: string, order: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { rows } = await this.#pool.query(`select to_jsonb(t) as row from ${table} t order by ${order}`)
    return rows.map(({ row }) => row)
  }

  async query(text: string): Promise<void> {
    await this.#pool.query(text)
  }

  /** The first column of what a query answers. */
  async values(text: string): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<string[]>({ text, rowMode: 'array' })
    return rows.map(([value]) => value!)
  }

  /** As freshly migrated. To truncate tables of a few rows, with their indexes, takes many times as long as to delete these. */
  async empty(): Promise<void> {
    const others = tables.filter((table) => table !== 'checkpoint')
    await this.#pool.query(
      `${others.map((table) => `delete from ${table}`).join('; ')}; update checkpoint
       set sequence = 0, places_to = 0, first_frame = null, last_frame = null, last_frame_sequence = null`,
    )
  }

  async close(): Promise<void> {
    await this.#pool.end()
    await this.database.close()
  }
}

/** A database of its own, which is closed when the test ends. */
export const openProjected = async (t: Test, postgres: TestPostgres): Promise<Projected> => {
  const projected = new Projected((await postgres.newDatabase()).url)
  t.teardown(() => projected.close())
  return projected
}

/** Projects all that is in the log, in batches of at most so many events. */
export const project = async (
  log: MemoryLog,
  store: ProjectionStore,
  batchEventsMax: number,
  toSequence = log.frames.length,
): Promise<RunEnd> => {
  const ledger = ledgerOf(log, (await store.load()).sequence)
  return new ProjectionRun({ ledger, log, store, batchEventsMax, toSequence }).ended
}

/** The ledger of the first frames of the log. */
export const ledgerOf = (log: MemoryLog, toSequence = log.frames.length): Ledger => {
  const ledger = initialLedger()
  for (const frame of log.frames.slice(0, toSequence)) applyFrame(ledger, frame)
  return ledger
}
