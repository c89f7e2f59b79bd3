import t from 'tap'
import { connectNats } from '../../../src/infrastructure/nats/connect.ts'
import { NatsServer } from './server.ts'

const withUser = await NatsServer.create({ authorization: 'user: "gate", password: "p@ss"' })
t.teardown(() => withUser.remove())
const withToken = await NatsServer.create({ authorization: 'token: "s3cret"' })
t.teardown(() => withToken.remove())

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
  await t.rejects(connectNats({ url: withUser.url, name, user: 'gate', password: 'wrong' }), /Authorization Violation/i)
  await t.rejects(connectNats({ url: withToken.url, name }), /Authorization Violation/i)
  await t.rejects(connectNats({ url: 'nats://127.0.0.1:1', name }), /refused/i)
  await t.rejects(connectNats({ url: withUser.url, name, credentialsFile: '/nowhere' }), /ENOENT/)
})
