import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { ensureEndUsers, openEndUserKeys } from '../../../../src/adapters/nats/end-users/open.ts'
import { NatsServer } from '../server.ts'

t.test('keys of end users on a real server', async (t) => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const connection = await connectNats({ url: server.url, name: 'test', role: 'edge' })
  t.teardown(() => connection.close())
  const options = { connection, name: 'GATEWAY', role: 'edge', replicas: 1 }
  const early = await openEndUserKeys(options)
  await t.rejects(early.find('acme'), { code: 'log_unavailable', retryAfterSeconds: 1 }, 'before the stream is there')
  await ensureEndUsers(options)
  const [one, other] = [await openEndUserKeys(options), await openEndUserKeys(options)]

  t.equal(await one.find('acme'), null)
  const made = await Promise.all([one.create('acme', 'first'), other.create('acme', 'second')])
  t.equal(made[0], made[1], 'of two who make it at once, one does')
  t.equal(await other.find('acme'), made[0])
  t.equal(await other.create('other', 'its own'), 'its own')

  t.equal(await one.erase('acme'), true)
  t.equal(await one.erase('acme'), false)
  t.equal(await other.find('acme'), null)
  t.equal(await other.find('other'), 'its own')
  t.equal(await other.create('acme', 'third'), 'third', 'a new one after it')
  const { state } = await (await jetstreamManager(connection)).streams.info('GATEWAY_END_USERS')
  t.equal(state.messages, 2, 'the erased message is gone')
})
