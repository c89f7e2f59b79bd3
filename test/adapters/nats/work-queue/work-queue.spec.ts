import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { until } from '../../../support/clients.ts'
import { LossyProxy } from '../lossy-proxy.ts'
import { bytesOf, megabytes, openQueues, startQueueServer, Taker, textOf } from './open.ts'

const { server, connection, jsm, standing } = await startQueueServer(t)

t.test('what is put is handed out once, and gone when it is done', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'ONCE' })
  await tasks.put('task_a', bytesOf('first'))
  await tasks.put('task_b', bytesOf(''))
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  const item = await taker.has(1)
  t.match(item, { id: 'task_a', deliveries: 1 })
  t.equal(await textOf(item), 'first')
  t.equal(await textOf(await taker.has(2)), '')
  for (const each of taker.items) await each.done()
  t.equal(await standing('ONCE_TASKS'), 0)
  t.equal(await item.bytes(), null, 'what is done is gone')
  await tasks.put('task_c', bytesOf('third'))
  t.equal((await taker.has(3)).id, 'task_c')
})

t.test('tasks and callbacks of one id are two items', async (t) => {
  const { tasks, callbacks } = await openQueues(t, server, { name: 'TWO' })
  await tasks.put('task_a', bytesOf('a task'))
  await callbacks.put('task_a', bytesOf('a callback'))
  const [taking, sending] = [new Taker(tasks), new Taker(callbacks)]
  t.teardown(() => Promise.all([taking.stop(), sending.stop()]))
  t.equal(await textOf(await taking.has(1)), 'a task')
  t.equal(await textOf(await sending.has(1)), 'a callback')
})

t.test('an item that stands is left as it is, however late it is put again', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'AGAIN' })
  await tasks.put('task_a', bytesOf('first'))
  await tasks.put('task_a', bytesOf('second'))
  const { config } = await jsm.streams.info('AGAIN_TASKS')
  await jsm.streams.update('AGAIN_TASKS', { ...config, duplicate_window: 100_000_000 }) // 0.1 s.
  await delay(1_500)
  await tasks.put('task_a', bytesOf('third'))
  t.equal(await standing('AGAIN_TASKS'), 1)
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  t.equal(await textOf(await taker.has(1)), 'first')
})

t.test('an id that cannot be a subject is refused', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'IDS' })
  for (const id of ['', 'a.b', 'a*', '>', 'a b', 'x'.repeat(65)])
    await t.rejects(tasks.put(id, bytesOf('')), /cannot be the id/)
})

t.test('20 MB go in pieces, which are gone with the item', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'LARGE' })
  const bytes = megabytes(20)
  await tasks.put('task_large', bytes)
  t.equal(await standing('LARGE_TASKS'), 1 + bytes.length / natsLimits.queuePieceBytesMax)
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  const item = await taker.has(1)
  const found = await item.bytes()
  t.ok(found !== null && bytes.equals(found))
  await item.done()
  t.equal(await standing('LARGE_TASKS'), 0)
})

t.test('a size at the edge of a piece', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'EDGE' })
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  for (const [index, size] of [-1, 0, 1].entries()) {
    const bytes = megabytes(1).subarray(0, natsLimits.queuePieceBytesMax + size)
    await tasks.put(`task_${index}`, bytes)
    t.ok(bytes.equals((await (await taker.has(index + 1)).bytes())!))
  }
})

t.test('an item whose piece is missing, or another, is gone', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'TORN' })
  for (const id of ['task_missing', 'task_other']) await tasks.put(id, megabytes(2))
  await jsm.streams.purge('TORN_TASKS', { filter: 'torn.task-part.task_missing.2' })
  await jsm.streams.purge('TORN_TASKS', { filter: 'torn.task-part.task_other.2' })
  await connection.request('torn.task-part.task_other.2', megabytes(2).subarray(0, natsLimits.queuePieceBytesMax))
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  await taker.has(2)
  for (const item of taker.items) t.equal(await item.bytes(), null, item.id)
})

t.test('pieces whose item never came are removed after a while, others stay', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'SWEPT' })
  await tasks.put('task_whole', megabytes(1))
  await connection.request('swept.task-part.task_half.0', 'x')
  await connection.request('swept.task-part.task_half.1', 'x')
  const early = new Taker(tasks)
  await early.has(1)
  await early.stop()
  t.equal(await standing('SWEPT_TASKS'), 5)
  const later = await openQueues(t, server, { name: 'SWEPT', clock: () => Date.now() + natsLimits.queueOrphanMs })
  const taker = new Taker(later.tasks)
  t.teardown(() => taker.stop())
  await until(async () => (await standing('SWEPT_TASKS')) === 3)
  t.ok(await (await taker.has(1)).bytes())
})

t.test('a taker gets no more than it has room for', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'ROOM' })
  for (let n = 0; n < 20; n += 1) await tasks.put(`task_${n}`, bytesOf(''))
  const taker = new Taker(tasks, 3)
  t.teardown(() => taker.stop())
  await taker.has(3)
  await delay(300)
  t.equal(taker.items.length, 3)
  for (let n = 0; n < 20; n += 1) {
    await (await taker.has(n + 1)).done()
    t.ok(taker.items.length <= n + 4, `${taker.items.length} after ${n + 1} are done`)
  }
  t.equal(new Set(taker.items.map(({ id }) => id)).size, 20)
})

t.test('a lease that is not renewed ends, and another goes on', async (t) => {
  const options = { name: 'LEASE', leaseMs: 2_500 }
  const { tasks } = await openQueues(t, server, options)
  await tasks.put('task_renewed', bytesOf('r'))
  await tasks.put('task_lost', bytesOf('l'))
  const first = new Taker(tasks, 2)
  t.teardown(() => first.stop())
  await first.has(2)
  const renewed = first.items.find(({ id }) => id === 'task_renewed')!
  const renewing = setInterval(() => renewed.renew(), 300)
  t.teardown(() => clearInterval(renewing))
  const second = new Taker((await openQueues(t, server, options)).tasks)
  t.teardown(() => second.stop())
  const lost = await second.has(1)
  t.match(lost, { id: 'task_lost', deliveries: 2 })
  t.equal(await textOf(lost), 'l')
  const renewingToo = setInterval(() => lost.renew(), 300)
  t.teardown(() => clearInterval(renewingToo))
  await delay(4_000)
  t.same([first.items.length, second.items.length], [2, 1], 'what is renewed stays where it is')
  await lost.done()
  await first.items.find(({ id }) => id === 'task_lost')!.done()
  t.equal(await standing('LEASE_TASKS'), 1, 'done by either it is gone, and done twice does no harm')
})

t.test('an item whose lease ended comes to the one who holds it only once', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'HELD', leaseMs: 500 })
  await tasks.put('task_a', bytesOf('a'))
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  const item = await taker.has(1)
  t.equal(item.deliveries, 1)
  await delay(2_000)
  t.equal(taker.items.length, 1)
  t.ok(item.deliveries > 1, 'which tells that somebody else may have had it')
  await item.done()
  t.equal(await standing('HELD_TASKS'), 0)
})

t.test('what is handed back comes again, not before its time', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'DELAY' })
  await tasks.put('task_a', bytesOf('a'))
  const taker = new Taker(tasks, 1)
  t.teardown(() => taker.stop())
  const first = await taker.has(1)
  const beforeMs = Date.now()
  first.again(1_000)
  first.again(0)
  t.equal(first.renew(), false, 'it is held no more')
  t.equal((await taker.has(2)).deliveries, 2)
  const waitedMs = Date.now() - beforeMs
  t.ok(waitedMs >= 950 && waitedMs < 20_000, `${waitedMs} ms`)
  taker.items[1]!.again(0)
  t.match(await taker.has(3), { id: 'task_a', deliveries: 3 })
})

t.test('what is not done when its taker stops goes to another at once', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'STOP' })
  for (let n = 0; n < 100; n += 1) await tasks.put(`task_${n}`, bytesOf(String(n)))
  const first = new Taker(tasks)
  await first.has(10) // Others may still be on their way.
  const second = new Taker((await openQueues(t, server, { name: 'STOP' })).tasks)
  t.teardown(() => second.stop())
  await first.items[0]!.done()
  const beforeMs = Date.now()
  await first.stop()
  await second.has(99)
  t.ok(Date.now() - beforeMs < sharedLimits.queueLeaseMs, `${Date.now() - beforeMs} ms`)
  t.equal(new Set(second.items.map(({ id }) => id)).size, 99)
  const has = first.items.length
  await delay(200)
  t.equal(first.items.length, has, 'and none to the one that stopped')
})

t.test('two takers share', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'SHARED' })
  const takers = [new Taker(tasks), new Taker((await openQueues(t, server, { name: 'SHARED' })).tasks)]
  t.teardown(() => Promise.all(takers.map((taker) => taker.stop())))
  await until(async () => (await jsm.consumers.info('SHARED_TASKS', 'tasks')).num_waiting === 2)
  await Promise.all(Array.from({ length: 150 }, (_, n) => tasks.put(`task_${n}`, bytesOf(''))))
  await until(() => takers.reduce((sum, { items }) => sum + items.length, 0) === 150)
  for (const { items } of takers) t.ok(items.length >= 50 && items.length <= 100, `${items.length} items`)
  t.equal(new Set(takers.flatMap(({ items }) => items.map(({ id }) => id))).size, 150, 'each has its own')
})

t.test('5,000 open items are held and renewed', async (t) => {
  const leaseMs = 6_000
  const { tasks } = await openQueues(t, server, { name: 'MANY', leaseMs })
  const count = 5_000
  for (let n = 0; n < count; n += 500)
    await Promise.all(Array.from({ length: 500 }, (_, index) => tasks.put(`task_${n + index}`, bytesOf('{}'))))
  const taker = new Taker(tasks, count)
  const other = new Taker((await openQueues(t, server, { name: 'MANY', leaseMs })).tasks, count)
  t.teardown(() => Promise.all([taker.stop(), other.stop()]))
  const all = (): readonly Taker['items'][number][] => [...taker.items, ...other.items]
  await until(() => all().length >= count)
  const cpuBefore = process.cpuUsage()
  for (let round = 0; round < 6; round += 1) {
    for (const item of all()) item.renew()
    await delay(leaseMs / 3)
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  t.equal(all().length, count, 'over two leases none was handed out again')
  t.equal((await jsm.consumers.info('MANY_TASKS', 'tasks')).num_ack_pending, count)
  await Promise.all(all().map((item) => item.done()))
  t.equal(await standing('MANY_TASKS'), 0)
  t.comment(`six renewals of each took ${Math.round((user + system) / 1000)} ms`)
})

t.test('a consumer that is deleted is made again, and goes on with what stands', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'LOST' })
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  await tasks.put('task_a', bytesOf('a'))
  const item = await taker.has(1)
  await jsm.consumers.delete('LOST_TASKS', 'tasks')
  await tasks.put('task_b', bytesOf('b'))
  t.equal((await taker.has(2)).id, 'task_b')
  t.equal(taker.items.length, 2, 'what is held is not handed out twice')
  await item.done()
  await until(async () => (await standing('LOST_TASKS')) === 1)
})

t.test('a renewal tells whether the queue can have heard it', async (t) => {
  const wire = await LossyProxy.create(server.port)
  t.teardown(() => wire.close())
  const { tasks } = await openQueues(t, server, { name: 'RENEWED', url: wire.url })
  await tasks.put('task_a', bytesOf('a'))
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  const item = await taker.has(1)
  t.equal(item.renew(), true)
  wire.refuse()
  wire.cut()
  await until(() => !item.renew())
  wire.admit()
  await until(() => item.renew())
  t.same([taker.items.length, item.deliveries], [1, 1])
  await item.done()
  t.equal(item.renew(), false, 'it is held no more')
  await item.done()
  t.equal(await standing('RENEWED_TASKS'), 0)
})

t.test('a put whose acknowledgement is lost is sent again, and stands once', async (t) => {
  const wire = await LossyProxy.create(server.port)
  t.teardown(() => wire.close())
  const { tasks } = await openQueues(t, server, { name: 'WIRE', url: wire.url })
  wire.dropReplies()
  const putting = tasks.put('task_a', bytesOf('a'))
  await until(async () => (await standing('WIRE_TASKS')) === 1)
  wire.cut()
  wire.passReplies()
  await putting
  t.equal(await standing('WIRE_TASKS'), 1)
})

t.test('a put is refused when the queue is away for too long, or closed', async (t) => {
  const wire = await LossyProxy.create(server.port)
  t.teardown(() => wire.close())
  const queues = await openQueues(t, server, { name: 'AWAY', url: wire.url })
  wire.refuse()
  wire.cut()
  const beforeMs = Date.now()
  await t.rejects(queues.tasks.put('task_a', bytesOf('a')), { code: 'log_unavailable' })
  const waitedMs = Date.now() - beforeMs
  t.ok(waitedMs >= sharedLimits.routedAckMs && waitedMs < 4 * sharedLimits.routedAckMs, `${waitedMs} ms`)
  const waiting = t.rejects(queues.tasks.put('task_b', bytesOf('b')), { code: 'log_unavailable' })
  await delay(50)
  await queues.close()
  await waiting
  await t.rejects(queues.tasks.put('task_c', bytesOf('c')), { code: 'log_unavailable' })
  wire.admit()
})
