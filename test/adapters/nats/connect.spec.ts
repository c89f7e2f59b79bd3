import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type NatsConnection, nkeys } from '@nats-io/transport-node'
import t from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { makeCertificates } from '../../support/certificates.ts'
import { NatsServer } from './server.ts'

const withUser = await NatsServer.create({ authorization: 'user: "gate", password: "p@ss"' })
t.teardown(() => withUser.remove())
const withToken = await NatsServer.create({ authorization: 'token: "s3cret"' })
t.teardown(() => withToken.remove())
const certificates = await makeCertificates()
t.teardown(() => certificates.remove())
const others = await makeCertificates()
t.teardown(() => others.remove())
const withTls = await NatsServer.create({ certificates })
t.teardown(() => withTls.remove())

const name = 'test'

t.test('a user is given apart or in the URL, a token apart', async (t) => {
  const ways = [
    { url: withUser.url, name, user: 'gate', password: 'p@ss' },
    { url: `nats://gate:p%40ss@127.0.0.1:${withUser.port}`, name },
    { url: `127.0.0.1:${withToken.port}`, name, token: 's3cret' },
    { url: `nats://127.0.0.1:1,${withToken.url}`, name, token: 's3cret' },
  ]
  for (const options of ways) {
    const connection = await connectNats(options)
    t.equal(connection.info?.jetstream, true)
    await connection.close()
  }
})

t.test('a first connection that is not let in, or finds nobody, is rejected', async (t) => {
  const refuses = ({ port }: NatsServer): RegExp => new RegExp(`^NATS at 127.0.0.1:${port} refuses this user: `)
  const { port, url } = withUser
  await t.rejects(connectNats({ url, name, user: 'gate', password: 'wrong' }), { message: refuses(withUser) })
  await t.rejects(connectNats({ url: `nats://gate:s3cret@127.0.0.1:${port}`, name }), { message: refuses(withUser) })
  await t.rejects(connectNats({ url: withToken.url, name }), { message: refuses(withToken) })
  await t.rejects(connectNats({ url: 'nats://u:s3cret@127.0.0.1:1,nats://127.0.0.1:2', name }), {
    message: 'NATS at 127.0.0.1:1, 127.0.0.1:2 cannot be reached: connection refused',
  })
  await t.rejects(connectNats({ url: 'nats://nobody.invalid:4222', name }), {
    message: /^NATS at nobody.invalid:4222 cannot be reached: (no such host name|the host name cannot be looked up)$/,
  })
  await t.rejects(connectNats({ url, name, credentialsFile: '/nowhere' }), /ENOENT/)
})

t.test('replies come to an inbox of the role', async (t) => {
  const connection = await connectNats({ url: withToken.url, name, token: 's3cret', role: 'edge' })
  t.teardown(() => connection.close())
  connection.subscribe('where', { callback: (_, request) => void request.respond(request.reply ?? '') })
  t.match((await connection.request('where')).string(), /^_INBOX_edge\./)
})

t.test('both ends show a certificate of an authority that the other knows', async (t) => {
  const { caFile } = certificates
  const client = await certificates.newClient('edge')
  const url = `tls://localhost:${withTls.port}`
  const connection = await connectNats({ url, name, tls: { caFile, ...client } })
  await connection.close()
  const refused = { message: /^NATS at localhost:\d+ cannot be spoken to with TLS: .*certificate/i }
  const silent = {
    message:
      /^NATS at localhost:\d+ does not answer within 3 attempts of 5000 ms; one that asks for a client certificate/,
  }
  await t.rejects(connectNats({ url, name, tls: { caFile: others.caFile, ...client } }), refused, 'an unknown server')
  await t.rejects(connectNats({ url, name }), refused, 'an authority that nobody named')
  await t.rejects(connectNats({ url, name, tls: { caFile } }), silent, 'no certificate')
  await t.rejects(
    connectNats({ url, name, tls: { caFile, ...(await others.newClient('edge')) } }),
    silent,
    'an unknown client',
  )
  await t.rejects(connectNats({ url, name, tls: { caFile: '/nowhere' } }), /nowhere/)
  const plain = connectNats({ url: `tls://127.0.0.1:${withToken.port}`, name, token: 's3cret' })
  await t.rejects(plain, /does not support 'tls'/, 'a password is not told to a server without TLS')
})

const reconnected = async (connection: NatsConnection): Promise<void> => {
  for await (const { type } of connection.status()) if (type === 'reconnect') return
}

t.test('files that are renewed are read anew', async (t) => {
  const client = await certificates.newClient('edge')
  const { caFile, server } = certificates
  const connection = await connectNats({
    url: `tls://localhost:${withTls.port}`,
    name,
    tls: { caFile, ...client },
  })
  t.teardown(() => connection.close())
  const renewed = await others.newClient('edge')
  const isBack = reconnected(connection)
  await withTls.stop()
  await copyFile(others.caFile, caFile)
  await copyFile(others.server.certFile, server.certFile)
  await copyFile(others.server.keyFile, server.keyFile)
  await copyFile(renewed.certFile, client.certFile)
  await copyFile(renewed.keyFile, client.keyFile)
  await withTls.start()
  await isBack
  t.equal(connection.info?.tls_verify, true)
})

const credentialsText = (): string => {
  const seed = Buffer.from(nkeys.createUser().getSeed()).toString()
  const section = (noun: string, text: string): string =>
    `-----BEGIN ${noun}-----\n${text}\n------END ${noun}------\n\n`
  return section('NATS USER JWT', 'header.claims.signature') + section('USER NKEY SEED', seed)
}

t.test(
  'a file of credentials that is being replaced when the server is back does not end the connection',
  async (t) => {
    const server = await NatsServer.create()
    t.teardown(() => server.remove())
    const credentialsFile = join(t.testdir(), 'edge.creds')
    await writeFile(credentialsFile, credentialsText())
    const connection = await connectNats({ url: server.url, name, credentialsFile })
    t.teardown(() => connection.close())
    for (const text of ['', credentialsText()]) {
      const isBack = reconnected(connection)
      await server.stop()
      await writeFile(credentialsFile, text)
      await server.start()
      await isBack
      t.equal(connection.isClosed(), false)
      await connection.flush()
    }
  },
)
