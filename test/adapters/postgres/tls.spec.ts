import t from 'tap'
import { openPool } from '../../../src/adapters/postgres/connection.ts'
import { openDatabase } from '../../../src/adapters/postgres/database.ts'
import { migrate } from '../../../src/adapters/postgres/migrate.ts'
import { createDatabase, waitForDatabase } from '../../../src/adapters/postgres/wait-for-database.ts'
import { makeCertificates } from '../../support/certificates.ts'
import { startPostgres } from '../../support/postgres.ts'

const certificates = await makeCertificates()
t.teardown(() => certificates.remove())
const others = await makeCertificates()
t.teardown(() => others.remove())
const postgres = await startPostgres(t, { certificates })

const withParameters = (url: string, parameters: Record<string, string>): string =>
  `${url}?${new URLSearchParams(parameters)}`

const verified = { sslmode: 'verify-full', sslrootcert: certificates.caFile }

/** The user of a connection, and whether it is encrypted. */
const connectionOf = async (url: string): Promise<unknown> => {
  const pool = openPool({ url, schema: 'ledger' }, { connectionsMax: 1, statementMs: 0 })
  try {
    const { rows } = await pool.query(
      'select usename as user, ssl from pg_stat_ssl join pg_stat_activity using (pid) where pid = pg_backend_pid()',
    )
    return rows[0]
  } finally {
    await pool.end()
  }
}

t.test('everything that connects does so over TLS', async (t) => {
  const url = withParameters(postgres.url, verified)
  t.same(await connectionOf(url), { user: 'postgres', ssl: true })
  await waitForDatabase(url, 10_000)
  await createDatabase(url, 'over_tls')
  const place = { url: url.replace('/postgres?', '/over_tls?'), schema: 'ledger' }
  await migrate(place)
  const database = openDatabase(place.url)
  t.teardown(() => database.close())
  t.equal(await database.checkpoint(), 0)
})

t.test('the server’s name or address must be in its certificate', async (t) => {
  const url = withParameters(postgres.url, verified)
  t.match(await connectionOf(url.replace('127.0.0.1', 'localhost')), { ssl: true })
  await t.rejects(connectionOf(url.replace('127.0.0.1', '127.0.0.2')), /not in the cert's list/)
})

t.test('a server whose certificate another authority signed is refused', async (t) => {
  const unknown = /self-signed|unable to verify|signature/i
  const url = withParameters(postgres.url, { ...verified, sslrootcert: others.caFile })
  await t.rejects(connectionOf(url), unknown)
  await t.rejects(migrate({ url, schema: 'ledger' }), unknown)
  await t.rejects(waitForDatabase(url, 100), unknown)
  await t.rejects(connectionOf(withParameters(postgres.url, { sslmode: 'verify-full' })), unknown)
})

t.test('a server without TLS is refused', async (t) => {
  const plain = await startPostgres(t)
  await t.rejects(connectionOf(withParameters(plain.url, verified)), /does not support SSL/)
})

t.test('a user that must show a certificate does', async (t) => {
  const pool = openPool({ url: postgres.url, schema: 'public' }, { connectionsMax: 1, statementMs: 0 })
  t.teardown(() => pool.end())
  await pool.query('create role certified login')
  const url = postgres.url.replace('postgres@', 'certified@')
  const { certFile: sslcert, keyFile: sslkey } = await certificates.newClient('certified')
  t.same(await connectionOf(withParameters(url, { ...verified, sslcert, sslkey })), { user: 'certified', ssl: true })
  await t.rejects(connectionOf(withParameters(url, verified)), /valid client certificate/)
  const another = await certificates.newClient('another')
  const wrong = { sslcert: another.certFile, sslkey: another.keyFile }
  await t.rejects(connectionOf(withParameters(url, { ...verified, ...wrong })), /certificate authentication failed/)
})
