import { randomBytes } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { createInbox, headers, type NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { v7 } from 'uuid'
import { openCallClient } from '../../../src/adapters/nats/calls/call-client.ts'
import { openCallServer } from '../../../src/adapters/nats/calls/call-server.ts'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { ensureEndUsers } from '../../../src/adapters/nats/end-users/open.ts'
import { type LogOptions, type OpenLog, openLog } from '../../../src/adapters/nats/log.ts'
import { ensureOutcomes } from '../../../src/adapters/nats/outcomes/open.ts'
import { ensureRates } from '../../../src/adapters/nats/rates/open.ts'
import { openRawWriter } from '../../../src/adapters/nats/raw-writer.ts'
import { openSnapshots } from '../../../src/adapters/nats/snapshots/open.ts'
import { ensureWorkQueues } from '../../../src/adapters/nats/work-queue/open.ts'
import { hashFrame } from '../../../src/audit/merkle.ts'
import type { SnapshotHead } from '../../../src/audit/seal.ts'
import { logFormat } from '../../../src/events/log-format.ts'
import { DispatchLost } from '../../../src/roles/dispatch.ts'
import { MemorySource, sealedLog } from '../../audit/sealed-log.ts'
import { answerOf, hear, routedCall, stay } from '../../roles/calls-contract.ts'
import { makeCertificates } from '../../support/certificates.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { randomOf } from '../../support/random.ts'
import { framesOf } from '../../support/sealing.ts'
import { NatsCluster, type User, users } from './cluster.ts'
import { Load } from './load.ts'
import { LossyProxy } from './lossy-proxy.ts'
import { adjustment, hold, readAll } from './open.ts'

/** The servers wait 4 to 9 s, each its own time, before they elect another leader; two that clash do so again. */
const electionMs = 20_000

/** Of the servers' `ping_interval` and `ping_max`. */
const vanishedMs = 20_000

const cluster = await NatsCluster.create()
const opened: { close(): Promise<void> }[] = []
const connections: NatsConnection[] = []
t.teardown(async () => {
  await Promise.all(opened.map((log) => log.close()))
  await Promise.all(connections.map((connection) => connection.close()))
  await cluster.remove()
})

const connectAs = async (user: User): Promise<NatsConnection> => {
  const role = user === 'restore' ? 'operator' : user // Which its command runs as.
  const inbox = user === 'backup' ? {} : { role } // The NATS command line has the library's own inbox.
  const connection = await connectNats({ ...cluster.accessOf(user), ...inbox, name: user })
  connections.push(connection)
  return connection
}

const openAs = async (user: User, overrides: Partial<LogOptions> = {}): Promise<OpenLog> => {
  const log = await openLog({
    connection: await connectAs(user),
    name: 'GATEWAY',
    role: user,
    readOnly: user === 'projector',
    durability: 'synced',
    replicas: 3,
    clock: Date.now,
    newId: v7,
    logger: recordingLogger(),
    onFatal: (error) => t.fail(error),
    ...overrides,
  })
  opened.push({ close: () => log.close(2_000) })
  return log
}

/** How many bytes a snapshot has: each chunk is acknowledged, and an empty one ends it. */
const collect = async (connection: NatsConnection, subject: string): Promise<number> => {
  let bytes = 0
  for await (const chunk of connection.subscribe(subject)) {
    if (chunk.data.length === 0) break
    bytes += chunk.data.length
    chunk.respond()
  }
  return bytes
}

t.test('the disk alone bounds the store of a node: a restart leaves a large log its room', async (t) => {
  const { blocks, bsize } = await statfs(tmpdir())
  for (const url of cluster.monitoringUrls) {
    const { config } = (await (await fetch(`${url}/jsz?config=true`)).json()) as { config: { max_storage: number } }
    t.ok(config.max_storage > blocks * bsize, `${config.max_storage} bytes`)
  }
})

t.test('only the operator makes the stream', async (t) => {
  await t.rejects(openAs('edge', { create: false }), /the log GATEWAY does not exist on this server/)
  await t.rejects(openAs('edge'), /the log GATEWAY does not exist, and this user may not make it/)
  t.equal(await (await openAs('operator')).lastSequence(), 0)
})

t.test('each role does its work in the log, and no other', async (t) => {
  const [edge, proxy, scheduler, operator] = [
    await openAs('edge'),
    await openAs('proxy'),
    await openAs('scheduler'),
    await openAs('operator'),
  ]
  const [poller, projector] = [await openAs('video-poller'), await openAs('projector')]
  for (const log of [edge, proxy, scheduler, operator, poller]) await log.append([adjustment('journal')])
  t.same(await edge.postToWallet('acme', [adjustment('posted')]), { sequence: 6 })
  t.same(await edge.appendToWallet('acme', [hold('a')], 6), { sequence: 7 })
  t.same(await scheduler.appendToWallet('acme', [hold('b')], 6), { conflict: true, sequence: 7 })
  t.same(await operator.appendToWallet('acme', [hold('c')], 7), { sequence: 8 })
  for (const log of [edge, scheduler, operator, poller, projector])
    t.same(
      (await readAll(log)).map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5, 6, 7, 8],
    )
  t.equal((await framesOf(scheduler)).length, 8, 'and as they are stored, to seal them')
  t.equal(await proxy.lastSequence(), 8)
  await t.rejects(proxy.follow(1, () => {}).done, /Permissions Violation for Publish to "\$JS.API.CONSUMER.CREATE/)
})

t.test('a role that may not append is told at its start, with the subject', async (t) => {
  await t.rejects(
    openAs('projector', { readOnly: false }),
    /cannot be appended to: Permissions Violation for Publish to "gateway.journal.projector"/,
  )
  await t.rejects(openAs('proxy', { role: 'edge' }), /Publish to "gateway.journal.edge"/)
  t.equal(await (await openAs('operator')).lastSequence(), 8, 'the question leaves nothing in the log')
})

t.test('what a user may not say is refused', async (t) => {
  const api = '$JS.API.STREAM'
  const harmful = [
    `${api}.PURGE.GATEWAY`,
    `${api}.DELETE.GATEWAY`,
    `${api}.MSG.DELETE.GATEWAY`,
    `${api}.UPDATE.GATEWAY`,
  ]
  const journals = users.map((user) => `gateway.journal.${user}`)
  const reading = [`${api}.MSG.GET.GATEWAY`, '$JS.API.CONSUMER.CREATE.GATEWAY', '$JS.API.CONSUMER.MSG.NEXT.GATEWAY.x']
  const queue = [
    `${api}.CREATE.GATEWAY_TASKS`,
    `${api}.MSG.GET.GATEWAY_TASKS`,
    '$JS.API.CONSUMER.MSG.NEXT.GATEWAY_TASKS.tasks',
    '$JS.ACK.GATEWAY_TASKS.tasks.1.1.1.1.0',
  ]
  const purge = `${api}.PURGE.GATEWAY_TASKS`
  const rates = ['gateway.rate.x', `${api}.CREATE.GATEWAY_RATES`, `${api}.MSG.GET.GATEWAY_RATES`]
  const durable = '$JS.API.CONSUMER.DURABLE.CREATE.GATEWAY.x'
  const refused: { readonly [U in User]: readonly string[] } = {
    edge: [
      `${api}.CREATE.GATEWAY`,
      `${api}.CREATE.GATEWAY_RATES`,
      `${api}.PURGE.GATEWAY_RATES`,
      'gateway.edge.x.y',
      'gateway.callback.x',
      ...queue,
    ],
    proxy: [
      `${api}.CREATE.GATEWAY`,
      'gateway.call',
      'gateway.proxy.x.y',
      'gateway.wallet.acme',
      ...reading,
      ...queue,
      ...rates,
      purge,
    ],
    'video-poller': [
      `${api}.CREATE.GATEWAY`,
      `${api}.CREATE.GATEWAY_TASKS`,
      `${api}.DELETE.GATEWAY_TASKS`,
      'gateway.call',
      'gateway.wallet.acme',
      'gateway.task.x',
      ...rates,
    ],
    projector: [
      `${api}.CREATE.GATEWAY`,
      'gateway.call',
      'gateway.wallet.acme',
      'gateway.journal.projector',
      ...queue,
      purge,
    ],
    scheduler: [`${api}.CREATE.GATEWAY`, 'gateway.call', ...queue, ...rates, purge],
    gateway: [`${api}.CREATE.GATEWAY`, `${api}.CREATE.GATEWAY_RATES`, 'gateway.call', 'gateway.edge.x.y'],
    operator: [`${api}.CREATE.OTHER`, 'gateway.call'],
    backup: [`${api}.CREATE.GATEWAY`, 'gateway.call', 'gateway.wallet.acme', 'gateway.journal.backup', ...reading],
    restore: [`${api}.CREATE.OTHER`, 'gateway.call'],
  }
  for (const user of users) {
    const connection = await connectAs(user)
    // Who puts a log back says what every writer said.
    const others = user === 'restore' ? [] : journals.filter((subject) => !subject.endsWith(`.${user}`))
    for (const subject of [...harmful, durable, ...others, ...refused[user]])
      await t.rejects(
        connection.request(subject, '{}'),
        { message: /Permissions Violation for Publish/ },
        `${user}: ${subject}`,
      )
  }
})

t.test('what a user may not hear is refused', async (t) => {
  const shared = ['>', 'gateway.>', 'gateway.call', 'gateway.journal.*', 'gateway.wallet.acme', '$JS.API.>', '_INBOX.>']
  for (const user of users) {
    const connection = await connectAs(user)
    const others = users.filter((other) => other !== user).map((other) => `_INBOX_${other}.>`)
    const lines = { edge: ['gateway.proxy.*.*'], proxy: ['gateway.edge.*.*'] }
    const mine = user in lines ? lines[user as keyof typeof lines] : ['gateway.edge.*.*', 'gateway.proxy.*.*']
    for (const subject of [...shared, ...others, ...mine]) {
      if (user === 'backup' && subject === '_INBOX.>') continue
      if (user === 'restore' && subject === '_INBOX_operator.>') continue
      const heard = Promise.withResolvers<unknown>()
      connection.subscribe(subject, { callback: (error) => heard.resolve(error) })
      t.match(await heard.promise, { message: /Permissions Violation for Subscription/ }, `${user}: ${subject}`)
    }
  }
})

t.test('the log is backed up and restored by a user of its own', async (t) => {
  const api = '$JS.API.STREAM'
  const connection = await connectAs('backup')
  const inbox = createInbox()
  const received = collect(connection, inbox)
  const request = JSON.stringify({ deliver_subject: inbox, no_consumers: true, chunk_size: 1024 })
  const answer = await connection.request(`${api}.SNAPSHOT.GATEWAY`, request)
  const { config, state, error } = answer.json<{ config: object; state: { messages: number }; error?: object }>()
  t.equal(error, undefined)
  t.equal(state.messages, 8)
  t.ok((await received) > 0)
  const restore = await connection.request(`${api}.RESTORE.GATEWAY`, JSON.stringify({ config, state }))
  t.match(restore.json(), { error: { description: /already in use/ } }, 'it may ask, where none of the name is there')
  await t.rejects(connection.request('$JS.SNAPSHOT.RESTORE.GATEWAY.x', ''), /no responders/)
})

t.test('the operator raises the log to each format that there is', async (t) => {
  const operator = await connectAs('operator')
  const formats = Array.from({ length: logFormat - 1 }, (_, index) => index + 2)
  const refused = headers() // By the stream: what is no frame is not to be in the log.
  refused.set('Nats-Expected-Last-Sequence', '1000000')
  const options = { timeout: 2_000, headers: refused }
  for (const format of formats)
    t.match((await operator.request(`gateway.journal.format-${format}`, '', options)).string(), /wrong last sequence/)
})

t.test('a call of the edge is answered by a proxy, and refused where there is none', async (t) => {
  const options = { name: 'GATEWAY', clock: Date.now, newId: v7, logger: recordingLogger() }
  const edge = openCallClient({ connection: await connectAs('edge'), ...options })
  const proxyConnection = await connectAs('proxy')
  const proxy = openCallServer({ connection: proxyConnection, ...options })
  t.match((await hear(edge.dispatch(routedCall(), stay()))).fault, { code: 'no_available_channel' })
  const chunks = [randomBytes(10), randomBytes(300_000)]
  const serving = proxy.serve(() => answerOf(chunks))
  let answered: Awaited<ReturnType<typeof hear>> | undefined
  // The nodes hear of each other's subscriptions in their own time.
  await until(async () => {
    answered = await hear(edge.dispatch(routedCall(), stay()))
    return !(answered.fault instanceof DispatchLost)
  })
  const { bytes, fault } = answered!
  t.equal(fault, undefined)
  t.ok(bytes.equals(Buffer.concat(chunks)))
  await serving.stop()
  await edge.close()
  await proxy.close()
})

t.test('a proxy whose machine vanished gets no calls any more after seconds', async (t) => {
  const lossy = await LossyProxy.create(Number(new URL(cluster.urls[0]!).port))
  t.teardown(() => lossy.close())
  const access = { ...cluster.accessOf('proxy'), url: `tls://localhost:${lossy.port}` }
  const connection = await connectNats({ ...access, role: 'proxy', name: 'vanishing' })
  connections.push(connection)
  const proxy = openCallServer({ connection, name: 'GATEWAY', clock: Date.now, newId: v7, logger: recordingLogger() })
  proxy.serve(() => answerOf([]))
  await connection.flush()
  const asking = await connectAs('edge')
  const hasProxy = async (): Promise<boolean> => {
    const failed = await asking.request('gateway.call', '', { timeout: 500 }).catch(String)
    return !/no responders/.test(String(failed))
  }
  await until(hasProxy)
  lossy.freeze()
  const frozenMs = Date.now()
  await until(async () => !(await hasProxy()))
  t.ok(Date.now() - frozenMs < vanishedMs, `${Date.now() - frozenMs} ms`)
  await proxy.close()
})

t.test('a cluster whose authority the client does not know is refused', async (t) => {
  const others = await makeCertificates()
  t.teardown(() => others.remove())
  const access = cluster.accessOf('edge')
  const refused = /self-signed|unable to verify|signature/i
  await t.rejects(connectNats({ ...access, name: 'test', tls: { caFile: others.caFile } }), refused)
  await t.rejects(
    connectNats({ ...access, name: 'test', url: access.url.replaceAll('tls:', 'nats:'), tls: {} }),
    refused,
  )
})

t.test('each node killed in its turn: nothing acknowledged is lost or doubled, and the log goes on', async (t) => {
  const log = await openAs('operator')
  const before = await log.lastSequence()
  const load = new Load(log)
  const leader = (await cluster.leaderOf('GATEWAY')) ?? 0
  for (const node of [leader, (leader + 1) % 3, (leader + 2) % 3]) {
    await load.proceeds(200, electionMs)
    const isLeader = (await cluster.leaderOf('GATEWAY')) === node
    await cluster.kill(node)
    const killedMs = Date.now()
    const opening = openAs('edge')
    await load.proceeds(100, electionMs)
    t.comment(`node ${node}${isLeader ? ', the leader,' : ''} killed: appends go on after ${Date.now() - killedMs} ms`)
    t.ok(await (await opening).lastSequence(), 'a log that is opened meanwhile waits for a leader')
    await cluster.start(node)
  }
  await load.proceeds(200, electionMs)
  const { acknowledged, standing, sequences, followed } = await load.stop()
  const isNew = ({ sequence }: { readonly sequence: number }): boolean => sequence > before
  t.same(standing.filter(isNew), acknowledged, 'each stands once, where its appender was told')
  t.same(followed, sequences, 'the follower saw every frame once, in order')
  t.same(
    sequences,
    Array.from({ length: sequences.length }, (_, index) => index + 1),
  )
  t.comment(`${acknowledged.length} appends in ${sequences.length} frames`)
})

t.test('a user of its own puts frames of every writer back, in order, on three nodes', async (t) => {
  const connection = await connectAs('restore')
  const log = await openLog({
    connection,
    name: 'GATEWAY',
    role: 'operator',
    durability: 'synced',
    replicas: 3,
    clock: Date.now,
    newId: v7,
    logger: recordingLogger(),
    onFatal: (error) => t.fail(error),
  })
  opened.push({ close: () => log.close(2_000) })
  const standing = await log.lastSequence()
  const { frames } = sealedLog({ frames: 300, random: randomOf(41) })
  const moved = frames.map((frame) => ({ ...frame, sequence: standing + frame.sequence }))
  await openRawWriter(connection, 'GATEWAY').store(
    new MemorySource(moved, 50).read(standing + 1, standing + moved.length),
  )
  const found: string[] = []
  for await (const some of log.read(standing + 1, await log.lastSequence()))
    found.push(...some.map((frame) => hashFrame(frame).toString('hex')))
  t.same(
    found,
    frames.map((frame) => hashFrame(frame).toString('hex')),
  )
})

t.test('the same user makes the other streams where they are missing, and puts a snapshot back', async (t) => {
  const connection = await connectAs('restore')
  const { head, bytes } = sealedLog({ frames: 30, random: randomOf(42), snapshots: true }).snapshots.at(-1)!
  const written = async function* (): AsyncGenerator<Uint8Array, SnapshotHead> {
    yield bytes
    return head
  }
  const logger = recordingLogger()
  const options = { connection, name: 'GATEWAY', role: 'operator', replicas: 3, clock: Date.now, newId: v7, logger }
  await ensureWorkQueues({ ...options, durability: 'synced', create: true })
  await ensureRates(options)
  await ensureOutcomes({ ...options, durability: 'synced', create: true })
  await ensureEndUsers(options)
  const store = await openSnapshots({ ...options, create: true })
  await store.removeBeyond(async () => head.sequence)
  await store.write(head.sequence, written())
  const reader = await openSnapshots({ ...options, connection: await connectAs('edge'), role: 'edge', create: false })
  t.same(await reader.list(), [head])
  const pieces: Uint8Array[] = []
  for await (const piece of reader.read(head)) pieces.push(piece)
  t.ok(Buffer.concat(pieces).equals(bytes))
})
