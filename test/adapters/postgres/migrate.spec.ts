import t from 'tap'
import { openPool } from '../../../src/adapters/postgres/connection.ts'
import { migrate } from '../../../src/adapters/postgres/migrate.ts'
import { startPostgres } from '../../support/postgres.ts'
import { vacuumSlowly } from './slow-vacuum.ts'

const postgres = await startPostgres(t)

const tablesIn = async (url: string, schema: string): Promise<readonly string[]> => {
  const pool = openPool({ url, schema }, { connectionsMax: 1, statementMs: 0 })
  const { rows } = await pool.query<{ table_name: string }>(
    'select table_name from information_schema.tables where table_schema = $1 order by 1',
    [schema],
  )
  await pool.end()
  return rows.map(({ table_name }) => table_name)
}

t.test('the same migrations make the same tables in any schema, and once', async (t) => {
  const { url } = await postgres.newDatabase()
  await Promise.all([migrate({ url, schema: 'other' }), migrate({ url, schema: 'other' })])
  await migrate({ url, schema: 'other' })
  t.match(await tablesIn(url, 'ledger'), ['admin_changes', 'aliases', 'calls_by_hour', 'charge_places', 'checkpoint'])
  t.same(await tablesIn(url, 'other'), await tablesIn(url, 'ledger'))
})

t.test('a name that is no schema name is refused', async (t) => {
  await t.rejects(migrate({ url: postgres.url, schema: 'a"; drop schema ledger' }), RangeError)
})

t.test('a migration does not wait for a reader of its table for long, and those before it are applied', async (t) => {
  const { url } = await postgres.newDatabase()
  const place = { url, schema: 'ledger' }
  const pool = openPool(place, { connectionsMax: 2, statementMs: 5_000 })
  t.teardown(() => pool.end())
  const isThere = async (index: string) =>
    (await pool.query('select where to_regclass($1) is not null', [index])).rowCount === 1
  await pool.query(`delete from migrations where name >= '0034'`)
  // Those of 0034 and 0037 were made beforehand, as by an operator who has them built concurrently.
  await pool.query('drop index requests_by_upstream_request_id')
  await pool.query('alter table outcomes_by_hour drop column interrupted')
  const reader = await pool.connect()
  await reader.query('begin; select from outcomes_by_hour')
  await t.rejects(migrate(place), /a migration waits for a transaction that uses a table/)
  t.ok(await isThere('requests_by_upstream_request_id'), 'of the migration before')
  await pool.query('select from outcomes_by_hour')
  await reader.query('commit')
  reader.release()
  await migrate(place)
  await pool.query('select interrupted from outcomes_by_hour')
})

t.test('an autovacuum, which may take hours, makes way for a migration', async (t) => {
  const { url } = await postgres.newDatabase()
  const place = { url, schema: 'ledger' }
  const pool = openPool(place, { connectionsMax: 2, statementMs: 5_000 })
  t.teardown(() => pool.end())
  await pool.query(`delete from migrations where name >= '0036'`)
  await pool.query('alter table outcomes_by_hour drop column interrupted')
  await vacuumSlowly(pool)
  await migrate(place)
  await pool.query('select interrupted from outcomes_by_hour')
})
