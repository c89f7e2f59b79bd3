import { readFile } from 'node:fs/promises'
import t from 'tap'
import { openPool } from '../../../src/adapters/postgres/connection.ts'
import { openDatabase } from '../../../src/adapters/postgres/database.ts'
import { Rebuild } from '../../../src/adapters/postgres/rebuild.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { BatchAccumulator } from '../../../src/roles/projector/batch-accumulator.ts'
import { startPostgres } from '../../support/postgres.ts'

const postgres = await startPostgres(t)
const patient = { connectionsMax: 1, statementMs: 0 }

const query = async (url: string, text: string): Promise<readonly unknown[]> => {
  const pool = openPool({ url, schema: 'ledger' }, patient)
  try {
    return (await pool.query(text)).rows
  } finally {
    await pool.end()
  }
}

await query(postgres.url, 'create database gateway')
const urlOf = (user: string): string =>
  `${postgres.url.replace('postgres@', `${user}@`).replace(/postgres$/, 'gateway')}`
await query(urlOf('postgres'), await readFile(new URL('../../../deploy/postgres.sql', import.meta.url), 'utf8'))

const readers = ['gateway_edge', 'gateway_video_poller', 'gateway_scheduler']

t.test('who reads finds no tables before the projector has made them', async (t) => {
  for (const user of readers) {
    const database = openDatabase(urlOf(user))
    t.teardown(() => database.close())
    t.equal(await database.checkpoint(), 0)
    await t.rejects(database.projectionStore().load(), { code: '42501' }, 'and makes none')
  }
})

t.test('the projector makes and writes the tables; the others only read them', async (t) => {
  const database = openDatabase(urlOf('gateway_projector'))
  t.teardown(() => database.close())
  await database.projectionStore().load()
  for (const user of readers) {
    t.match(await query(urlOf(user), 'select sequence from checkpoint'), [{ sequence: 0n }])
    for (const text of ['update checkpoint set sequence = 1', 'create table mine ()', 'drop table checkpoint'])
      await t.rejects(query(urlOf(user), text), { code: '42501' }, `${user}: ${text}`)
  }
})

t.test('what is made later can be read too', async (t) => {
  await query(urlOf('gateway_projector'), 'create table later as select 1 as one')
  for (const user of readers) t.same(await query(urlOf(user), 'select one from later'), [{ one: 1 }])
  await query(urlOf('gateway_projector'), 'drop table later')
})

t.test('the operator rebuilds and swaps what the projector goes on writing and the others reading', async (t) => {
  await Rebuild.run({ url: urlOf('gateway_operator'), schema: 'ledger' }, async (rebuild) => {
    await rebuild.store.apply(new BatchAccumulator(0).takeBatch(initialLedger()))
    await rebuild.finishLoading()
    await rebuild.swap(async () => {})
  })
  await query(urlOf('gateway_projector'), 'update checkpoint set sequence = 7')
  for (const user of [...readers, 'gateway_operator'])
    t.match(await query(urlOf(user), 'select sequence from checkpoint'), [{ sequence: 7n }])
})

t.test('nobody else connects', async (t) => {
  await query(postgres.url, 'create role stranger login')
  await t.rejects(query(urlOf('stranger'), 'select 1'), { code: '42501' })
})
