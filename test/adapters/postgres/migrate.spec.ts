import t from 'tap'
import { openPool } from '../../../src/adapters/postgres/connection.ts'
import { migrate } from '../../../src/adapters/postgres/migrate.ts'
import { startPostgres } from '../../support/postgres.ts'

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
