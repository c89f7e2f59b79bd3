import { JetStreamApiError, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { PermissionViolationError, TimeoutError } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { natsLimits } from '../../../src/adapters/nats/limits.ts'
import { Publisher } from '../../../src/adapters/nats/publisher.ts'
import { LossyProxy } from './lossy-proxy.ts'
import { NatsServer } from './server.ts'

const users = `users: [
  { user: "all", password: "all" }
  { user: "deaf", password: "deaf", permissions: { publish: ["a.*", "$JS.API.>"], subscribe: ["_INBOX_others.>"] } }
  { user: "few", password: "few", permissions: { publish: ["a.*", "$JS.API.>"], subscribe: ["_INBOX_few.>"] } }
]`
const server = await NatsServer.create({ authorization: users })
t.teardown(() => server.remove())

const open = async (t: Test, user = 'all', url = server.url): Promise<Publisher> => {
  const connection = await connectNats({ url, user, password: user, name: 'test', role: user })
  t.teardown(() => connection.close())
  return new Publisher(connection, 'SOME', `_INBOX_${user}`)
}

const owner = await connectNats({ url: server.url, user: 'all', password: 'all', name: 'owner' })
t.teardown(() => owner.close())
const manager = await jetstreamManager(owner)
await manager.streams.add({ name: 'SOME', subjects: ['a.*', 'b.*'], storage: StorageType.File })

const bytes = Buffer.from('hello')
const publication = (subject: string, messageId = subject) => ({ subject, bytes, messageId })

t.test('a message stands, with its headers; one that is sent again is known', async (t) => {
  const publisher = await open(t)
  const first = await publisher.publish({ ...publication('a.one'), headers: { 'Gateway-Pieces': '3' } })
  t.equal(first.duplicate, false)
  t.same(await publisher.publish(publication('a.one')), { sequence: first.sequence, duplicate: true })
  const stored = await manager.streams.getMessage('SOME', { seq: first.sequence })
  t.equal(stored?.string(), 'hello')
  t.equal(stored?.header.get('Gateway-Pieces'), '3')
})

t.test('an expected sequence that is not the last is refused', async (t) => {
  const publisher = await open(t)
  const { sequence } = await publisher.publish({ ...publication('a.two'), expectedSequence: 0 })
  const refused = publisher.publish({ ...publication('a.two', 'again'), expectedSequence: 0 })
  await t.rejects(refused, JetStreamApiError)
  await t.rejects(refused, { code: 10071 })
  t.ok((await publisher.publish({ ...publication('a.two', 'more'), expectedSequence: sequence })).sequence > sequence)
})

t.test('a thousand at once are each answered with their own', async (t) => {
  const publisher = await open(t)
  const ids = Array.from({ length: 1_000 }, (_, n) => `many-${n}`)
  const sequences = await Promise.all(
    ids.map(async (id) => (await publisher.publish(publication('a.many', id))).sequence),
  )
  const [first = 0] = sequences
  t.same(
    sequences,
    ids.map((_, n) => first + n),
  )
})

t.test('what no stream takes, and what this user may not say, is told at once', async (t) => {
  const publisher = await open(t)
  await t.rejects(publisher.publish(publication('nowhere')), { message: 'no stream has the subject' })
  const few = await open(t, 'few')
  const [allowed, refused] = await Promise.allSettled([
    few.publish(publication('a.few')),
    few.publish(publication('b.few')),
  ])
  t.equal(allowed.status, 'fulfilled')
  t.ok(refused.status === 'rejected' && refused.reason instanceof PermissionViolationError)
})

t.test('who may not hear the answers is told so, and the connection stays alive', async (t) => {
  const connection = await connectNats({ url: server.url, user: 'deaf', password: 'deaf', name: 'test', role: 'deaf' })
  t.teardown(() => connection.close())
  const publisher = new Publisher(connection, 'SOME', '_INBOX_deaf')
  await t.rejects(publisher.publish(publication('a.deaf')), PermissionViolationError)
  await t.rejects(publisher.publish(publication('a.deaf')), PermissionViolationError)
  await connection.flush()
  t.equal(connection.isClosed(), false)
})

t.test('an acknowledgement that does not come is given up, and a late one moves nothing', async (t) => {
  const wire = await LossyProxy.create(server.port)
  t.teardown(() => wire.close())
  const publisher = await open(t, 'all', wire.url)
  await publisher.publish(publication('a.before'))
  wire.holdReplies()
  const fromMs = performance.now()
  const [one, other] = await Promise.allSettled([
    publisher.publish(publication('a.lost')),
    publisher.publish(publication('a.lost-too')),
  ])
  t.ok(one.status === 'rejected' && one.reason instanceof TimeoutError)
  t.ok(other.status === 'rejected' && other.reason instanceof TimeoutError)
  const tookMs = performance.now() - fromMs
  t.ok(tookMs >= natsLimits.frameAckMs - 5 && tookMs < 5 * natsLimits.frameAckMs, `${tookMs} ms`)
  wire.passReplies()
  t.equal((await publisher.publish(publication('a.lost'))).duplicate, true, 'it had been stored')
})
