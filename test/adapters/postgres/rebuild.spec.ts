import type { Pool, PoolClient } from 'pg'
import t, { type Test } from 'tap'
import { openPool } from '../../../src/adapters/postgres/connection.ts'
import { openDatabase } from '../../../src/adapters/postgres/database.ts'
import { Rebuild } from '../../../src/adapters/postgres/rebuild.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { readModels } from '../../../src/projections/read-models.ts'
import { BatchAccumulator } from '../../../src/roles/projector/batch-accumulator.ts'
import { withTimeout } from '../../../src/runtime/within.ts'
import { until } from '../../support/clients.ts'
import { startPostgres } from '../../support/postgres.ts'
import { vacuumSlowly } from './slow-vacuum.ts'

const postgres = await startPostgres(t)

/** Every reader waits behind a statement that waits for the checkpoint. */
const isAwaited = 'select from pg_locks where not granted'

interface Swap {
  readonly pool: Pool
  /** Of a transaction that has read the checkpoint, until it is ended. */
  readonly reader: PoolClient
  readonly swapping: Promise<void>
}

/** A swap that waits for a reader. */
const startSwap = async (t: Test, schema: string, names: readonly string[] | null): Promise<Swap> => {
  const place = { url: postgres.url, schema }
  const database = openDatabase(place.url, place.schema)
  t.teardown(() => database.close())
  await database.projectionStore().load()
  const pool = openPool(place, { connectionsMax: 2, statementMs: 5_000 })
  t.teardown(() => pool.end())
  const reader = await pool.connect()
  await reader.query('begin isolation level repeatable read')
  await reader.query('select sequence from checkpoint')
  const swapping = Rebuild.run(place, async (rebuild) => {
    await rebuild.store.apply(new BatchAccumulator(0).takeBatch(initialLedger()))
    await rebuild.finishLoading()
    await rebuild.swap(async () => {}, names)
  })
  await until(async () => (await pool.query(isAwaited)).rowCount !== 0)
  return { pool, reader, swapping }
}

const idsOf = async ({ pool }: Pick<Swap, 'pool'>): Promise<unknown> =>
  (await pool.query(`select 'wallets'::regclass::oid as wallets, 'usage_entries'::regclass::oid as usage`)).rows

for (const names of [null, readModels.flatMap(({ tables }) => Object.keys(tables))])
  t.test(
    `a swap of ${names === null ? 'all' : 'named'} tables waits for a reader, and the others do not`,
    async (t) => {
      const swap = await startSwap(t, names === null ? 'whole' : 'named', names)
      const { pool, reader, swapping } = swap
      const before = await idsOf(swap)
      for (let read = 0; read < 5; read += 1)
        t.match((await pool.query('select sequence from checkpoint')).rows, [{ sequence: 0n }])
      t.same(await idsOf(swap), before)
      await reader.query('select * from wallets')
      await reader.query('commit')
      reader.release()
      await swapping
      t.not(JSON.stringify(await idsOf(swap)), JSON.stringify(before))
    },
  )

t.test('a rebuild that has lost its connection, as in a crash of the server, swaps nothing', async (t) => {
  const swap = await startSwap(t, 'lost', null)
  const { pool, reader, swapping } = swap
  const before = await idsOf(swap)
  const rejected = t.rejects(swapping)
  await pool.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`)
  await rejected
  await reader.query('commit')
  reader.release()
  t.same(await idsOf(swap), before)
})

/** `isLeft`: whether there is the schema that a killed rebuild leaves. */
const openKilled = (t: Test, schema: string, leftover: string) => {
  const place = { url: postgres.url, schema }
  const database = openDatabase(place.url, place.schema)
  t.teardown(() => database.close())
  const pool = openPool(place, { connectionsMax: 2, statementMs: 5_000 })
  t.teardown(() => pool.end())
  const isLeft = async (): Promise<boolean> =>
    (await pool.query('select where to_regnamespace($1) is not null', [leftover])).rowCount === 1
  return { place, pool, load: () => database.projectionStore().load(), isLeft }
}

t.test(
  'tables that a killed rebuild had replaced are dropped at the next start, unless one runs or they are read',
  async (t) => {
    const { place, pool, load, isLeft } = openKilled(t, 'killed', 'killed_retired')
    await load()
    await Rebuild.run(place, async () => {
      await pool.query('create schema killed_retired; create table killed_retired.wallets ()')
      await load()
      t.ok(await isLeft(), 'one runs')
    })
    await pool.query('create schema killed_retired; create table killed_retired.wallets ()')
    const reader = await pool.connect()
    await reader.query('begin; select from killed_retired.wallets')
    await load()
    t.ok(await isLeft(), 'they are read')
    await reader.query('commit')
    reader.release()
    await load()
    t.notOk(await isLeft())
  },
)

t.test('what a killed replay had filled is dropped at the next start, and what is filled on is not', async (t) => {
  const { place, load, isLeft } = openKilled(t, 'replayed', 'replayed_rebuild')
  await load()
  const killed = new Error('killed')
  const kill = (isResumable: boolean) =>
    t.rejects(
      Rebuild.run(place, () => Promise.reject(killed), { isResumable }),
      killed,
    )
  await kill(false)
  t.ok(await isLeft())
  await load()
  t.notOk(await isLeft())
  await kill(true)
  await load()
  t.ok(await isLeft())
  const swapAndKill = async (rebuild: Rebuild): Promise<void> => {
    await rebuild.finishLoading()
    await rebuild.swap(async () => {}, ['wallets'])
    throw killed
  }
  await t.rejects(Rebuild.run(place, swapAndKill, { isResumable: true }), killed)
  await load()
  t.notOk(await isLeft(), 'its tables are live')
})

t.test('a swap that would wait for a reader which waits for it is tried again', async (t) => {
  const place = { url: postgres.url, schema: 'dumped' }
  const database = openDatabase(place.url, place.schema)
  t.teardown(() => database.close())
  await database.projectionStore().load()
  const pool = openPool(place, { connectionsMax: 2, statementMs: 5_000 })
  const reader = await pool.connect()
  t.teardown(async () => {
    reader.release(true)
    await pool.end()
  })
  await reader.query("set deadlock_timeout = '1min'") // The server ends the swap's wait, as it does where the reader's is the older one.
  await reader.query('begin; lock table wallets in access share mode')
  let [brought, reading]: [number, Promise<unknown>] = [0, Promise.resolve()]
  await Rebuild.run(place, async (rebuild) => {
    await rebuild.store.apply(new BatchAccumulator(0).takeBatch(initialLedger()))
    await rebuild.finishLoading()
    const bringTo = async () => {
      brought += 1
      if (brought !== 2) return
      reading = reader.query('select from checkpoint').then(() => reader.query('commit'))
      await until(async () => (await pool.query(isAwaited)).rowCount !== 0)
    }
    await rebuild.swap(bringTo, ['wallets'])
  })
  await reading
  t.equal(brought, 4)
})

t.test('an autovacuum, which may take hours, makes way for a swap', async (t) => {
  const { url } = await postgres.newDatabase()
  const place = { url, schema: 'ledger' }
  const pool = openPool(place, { connectionsMax: 2, statementMs: 5_000 })
  t.teardown(() => pool.end())
  await vacuumSlowly(pool)
  await Rebuild.run(place, async (rebuild) => {
    await rebuild.store.apply(new BatchAccumulator(0).takeBatch(initialLedger()))
    await rebuild.finishLoading()
    await withTimeout(
      rebuild.swap(async () => {}, ['outcomes_by_hour']),
      10_000,
      () => new Error('not swapped'),
    )
  })
  t.match((await pool.query('select count(*) from outcomes_by_hour')).rows, [{ count: 0n }])
})
