import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { ensureStream } from '../../../src/adapters/nats/ensure-stream.ts'
import { buildLogNames, logStream } from '../../../src/adapters/nats/streams.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { adjustment, openOn } from './open.ts'
import { NatsServer } from './server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())
const unsynced = await NatsServer.create({ syncAlways: false })
t.teardown(() => unsynced.remove())

t.test('a server that acknowledges before it syncs is refused', async (t) => {
  await t.rejects(openOn(unsynced), /not known to be durable: the server does not run with `sync_interval: always`/)
})

t.test('where it cannot be determined the log is refused', async (t) => {
  await t.rejects(openOn(server, { monitoringUrl: undefined }), /no monitoring URL/)
  await t.rejects(openOn(server, { monitoringUrl: unsynced.monitoringUrl }), /belongs to another server/)
  await t.rejects(openOn(server, { monitoringUrl: 'http://127.0.0.1:1' }), /does not answer/)
  const elsewhere = createServer(({ url }, answer) => {
    answer.writeHead(302, { location: `${server.monitoringUrl}${url}` }).end()
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  const { port } = elsewhere.address() as AddressInfo
  await t.rejects(openOn(server, { monitoringUrl: `http://127.0.0.1:${port}` }), /does not answer/)
  elsewhere.close()
  elsewhere.closeAllConnections()
})

t.test('relaxed durability warns instead', async (t) => {
  const logger = recordingLogger()
  const opened = await openOn(unsynced, { durability: 'relaxed', logger })
  t.teardown(opened.close)
  t.same(await opened.log.append([adjustment('a')]), { sequence: 1 })
  t.match(logger.lines, [{ event: 'log.durability_relaxed' }])
})

t.test('an asynchronous stream is refused on a server that syncs', async (t) => {
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  const jsm = await jetstreamManager(connection)
  const { config } = await ensureStream(jsm, logStream(buildLogNames('MODEL')), { replicas: 1, create: true })
  await jsm.streams.add({
    ...config,
    name: 'ASYNC',
    subjects: ['async.journal.*', 'async.wallet.*'],
    persist_mode: 'async',
  })
  await t.rejects(openOn(server, { name: 'ASYNC' }), /persist_mode async/)
})

t.test('a stream with other settings is refused, and each difference is named', async (t) => {
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  const jsm = await jetstreamManager(connection)
  await jsm.streams.add({ name: 'OTHER', subjects: ['other.>'], max_msgs: 1000, allow_direct: true, compression: 's2' })
  const attempt = openOn(server, { name: 'OTHER' })
  await t.rejects(attempt, { message: /^stream OTHER cannot hold the log: / })
  const { message } = await attempt.then(
    () => new Error('opened'),
    (error: Error) => error,
  )
  for (const part of [
    'subjects is ["other.>"], not ["other.journal.*","other.wallet.*"]',
    'max_msgs is 1000, not -1',
    'discard is "old", not "new"',
    'deny_delete is false, not true',
    'deny_purge is false, not true',
    'compression is "s2", not "none"',
    'allow_direct is true, not false',
    'duplicate_window is 120000000000, not 600000000000',
  ])
    t.ok(message.includes(part), part)
})

t.test('a stream that stands as it must is taken as it is', async (t) => {
  const first = await openOn(server, { name: 'TWICE' })
  await first.log.append([adjustment('a')])
  await first.close()
  const second = await openOn(server, { name: 'TWICE' })
  t.teardown(second.close)
  t.equal(await second.log.lastSequence(), 1)
  t.not(second.log.writer, first.log.writer)
  t.same(await second.log.append([adjustment('b')]), { sequence: 2 })
})

t.test('a name that no stream can have is refused', async (t) => {
  await t.rejects(openOn(server, { name: 'a.b' }), /log.name "a.b" does not match/)
})

t.test('a log that is not there is made only by those who may make one', async (t) => {
  const words = /the log NOPE does not exist on this server; an operator's command, such as `gateway prices publish`/
  await t.rejects(openOn(server, { name: 'NOPE', create: false }), words)
  await t.rejects(openOn(server, { name: 'NOPE', create: false }), words, 'and the question made none')
  const made = await openOn(server, { name: 'NOPE', create: true })
  await made.close()
  const found = await openOn(server, { name: 'NOPE', create: false })
  await found.close()
})
