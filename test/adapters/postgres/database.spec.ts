import t from 'tap'
import { openPool } from '../../../src/adapters/postgres/connection.ts'
import { openDatabase } from '../../../src/adapters/postgres/database.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { walletTables } from '../../../src/projections/wallets/table.ts'
import { BatchAccumulator } from '../../../src/roles/projector/batch-accumulator.ts'
import { RefusedRows } from '../../../src/roles/projector/ports.ts'
import { startPostgres } from '../../support/postgres.ts'

const postgres = await startPostgres(t)
const patient = { connectionsMax: 1, statementMs: 0 }

t.test('whole numbers and decimals are read exactly, dates as written', async (t) => {
  const pool = openPool({ url: postgres.url, schema: 'public' }, patient)
  t.teardown(() => pool.end())
  const { rows } = await pool.query(
    `select 9007199254740993::int8 as int8, array[1, 9007199254740993]::int8[] as int8s, '{}'::int8[] as empty,
            0.000000000001::numeric(38, 12) as numeric, '2026-03-01'::date as date, null::int8 as nothing,
            '2026-03-01T00:00:00.123Z'::timestamptz as instant, '2026-03-01T00:00:00.123Z'::timestamptz::text as text`,
  )
  t.same(rows, [
    {
      int8: 9_007_199_254_740_993n,
      int8s: [1n, 9_007_199_254_740_993n],
      empty: [],
      numeric: '0.000000000001',
      date: '2026-03-01',
      nothing: null,
      instant: new Date('2026-03-01T00:00:00.123Z'),
      text: '2026-03-01 00:00:00.123+00',
    },
  ])
})

t.test('what the URL sets for the server stays set', async (t) => {
  const { url } = await postgres.newDatabase()
  const pool = openPool({ url: `${url}?options=-c%20lock_timeout%3D4321`, schema: 'ledger' }, patient)
  t.teardown(() => pool.end())
  const { rows } = await pool.query("select current_setting('lock_timeout') as lock, current_schema as schema")
  t.same(rows, [{ lock: '4321ms', schema: 'ledger' }])
})

t.test('a store makes the tables where they are missing', async (t) => {
  const { url } = await postgres.newDatabase()
  const database = openDatabase(url, 'fresh')
  t.teardown(() => database.close())
  t.match(await database.projectionStore().load(), { sequence: 0, firstFrame: null })
})

t.test('a batch from elsewhere than the checkpoint writes nothing', async (t) => {
  const { url } = await postgres.newDatabase()
  const database = openDatabase(url)
  t.teardown(() => database.close())
  const store = database.projectionStore()
  const ledger = { ...initialLedger(), sequence: 5 }
  t.equal(await store.apply(new BatchAccumulator(1).takeBatch(ledger)), false)
  t.equal(await store.checkpoint(), 0)
  t.equal(await store.apply(new BatchAccumulator(0).takeBatch(ledger)), true)
  t.equal(await store.checkpoint(), 5)
})

t.test('a row that a table refuses leaves nothing of its batch, and the store works on', async (t) => {
  const { url } = await postgres.newDatabase()
  const database = openDatabase(url)
  t.teardown(() => database.close())
  const store = database.projectionStore()
  const ledger = { ...initialLedger(), sequence: 5 }
  const reference = { workspace_id: 'acme', reference: 'twice', amount: '1' }
  const definition = walletTables.wallet_references
  const changes = [{ table: 'wallet_references', definition, written: [reference, reference], deleted: [] }]
  await t.rejects(store.apply({ ...new BatchAccumulator(0).takeBatch(ledger), changes }), RefusedRows)
  t.equal(await store.checkpoint(), 0)
  t.equal(await store.apply(new BatchAccumulator(0).takeBatch(ledger)), true)
})

t.test('a database that is away rejects, and refuses nothing', async (t) => {
  const database = openDatabase('postgres://nobody@127.0.0.1:1/nothing')
  t.teardown(() => database.close())
  await t.rejects(database.projectionStore().load(), { code: 'ECONNREFUSED' })
  await t.rejects(database.projectionStore().apply(new BatchAccumulator(0).takeBatch(initialLedger())), {
    code: 'ECONNREFUSED',
  })
})

t.test('a transaction whose client says nothing any more gives its locks back', async (t) => {
  const { url } = await postgres.newDatabase()
  const place = { url, schema: 'ledger' }
  const silent = openPool(place, { connectionsMax: 1, statementMs: 300 })
  const waiting = openPool(place, patient)
  t.teardown(async () => {
    await Promise.all([silent.end(), waiting.end()])
  })
  const client = await silent.connect()
  await client.query('begin')
  await client.query('select sequence from checkpoint for update')
  t.equal((await waiting.query('select sequence from checkpoint for update')).rowCount, 1)
  client.release(true)
})

t.test('one workspace whose reads are slow leaves connections for the others, and for the projector', async (t) => {
  const { url } = await postgres.newDatabase()
  const database = openDatabase(url)
  const pool = openPool({ url, schema: 'ledger' }, patient)
  await database.projectionStore().load()
  const reads = database.readModels()
  const client = await pool.connect()
  await client.query('begin; lock table requests in access exclusive mode')
  const slow = Array.from({ length: 40 }, (_, place) => reads.findRequestFrames(`request-${place}`, 'hog'))
  t.same(await reads.findBilling('other'), { sequence: 0, value: undefined })
  t.equal(await database.checkpoint(), 0)
  await client.query('rollback')
  for (const { value } of await Promise.all(slow)) t.equal(value, undefined)
  client.release()
  await Promise.all([pool.end(), database.close()])
})
