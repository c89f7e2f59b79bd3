import { setTimeout as delay } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { until } from '../../../support/clients.ts'
import { NatsServer } from '../server.ts'
import { bytesOf, megabytes, openQueues, Taker } from './open.ts'

const endings = [
  { signal: 'SIGKILL', awayMs: 0 },
  { signal: 'SIGTERM', awayMs: 0 },
  { signal: 'SIGKILL', awayMs: 1_500 },
] as const

t.test('a server killed under load loses no item, and its takers go on', async (t) => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const { tasks } = await openQueues(t, server, { leaseMs: 2_000 }) // Of what was on its way when the server ended.
  const put: string[] = []
  const done = new Set<string>()
  let isRunning = true
  t.teardown(() => {
    isRunning = false
  })
  const putOneByOne = async (writer: number): Promise<void> => {
    for (let index = 0; isRunning; index += 1) {
      const id = `task_${writer}_${index}`
      await tasks.put(id, writer === 0 && index % 50 === 0 ? megabytes(1) : bytesOf(id))
      put.push(id)
    }
  }
  const faults: string[] = []
  const taking = tasks.take(500, (item) => {
    const work = async (): Promise<void> => {
      if (!done.has(item.id) && (await item.bytes()) === null) faults.push(`${item.id} is gone`)
      done.add(item.id)
      await item.done()
    }
    work().catch((fault: Error) => faults.push(fault.message))
  })
  const putting = Promise.all(Array.from({ length: 10 }, (_, writer) => putOneByOne(writer)))
  for (const { signal, awayMs } of endings) {
    const before = done.size
    await until(() => done.size > before + 300)
    await server.stop(signal)
    await delay(awayMs)
    await server.start()
  }
  const before = done.size
  await until(() => done.size > before + 300)
  isRunning = false
  await putting
  const missing = (): readonly string[] => put.filter((id) => !done.has(id))
  await until(() => missing().length === 0)
  await taking.stop()
  t.same(faults, [])
  t.comment(`${put.length} items over ${endings.length} restarts`)
})

t.test('items that are held stay with their taker while the server is killed and started', async (t) => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const { tasks } = await openQueues(t, server)
  for (let n = 0; n < 200; n += 1) await tasks.put(`task_${n}`, bytesOf(''))
  const taker = new Taker(tasks, 1_000)
  t.teardown(() => taker.stop())
  await taker.has(200)
  await server.stop('SIGKILL')
  await server.start()
  await tasks.put('task_last', bytesOf(''))
  await until(() => taker.items.at(-1)?.id === 'task_last')
  t.equal(taker.items.length, 201, 'none came twice')
  await Promise.all(taker.items.map((item) => item.done()))
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  const jsm = await jetstreamManager(connection)
  t.equal((await jsm.streams.info('GATEWAY_TASKS')).state.messages, 0)
})

/**
 * Kills and starts a server that knows nothing of what it handed out since it had `before`: it writes that later than what is put, so one
 * that is killed may know less of its consumers than their takers do.
 */
const killed = async (server: NatsServer, before: Buffer): Promise<void> => {
  await server.stop('SIGKILL')
  await server.putConsumer('GATEWAY_TASKS', 'tasks', before)
  await server.start()
}

const consumerOf = async (server: NatsServer): Promise<Buffer> => {
  await server.stop()
  const state = await server.consumerState('GATEWAY_TASKS', 'tasks')
  await server.start()
  return state
}

t.test('items are done though the server forgot that it handed them out', async (t) => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const { tasks } = await openQueues(t, server)
  for (let n = 0; n < 10; n += 1) await tasks.put(`task_${n}`, bytesOf(''))
  const before = await consumerOf(server)
  const taker = new Taker(tasks, 5)
  t.teardown(() => taker.stop())
  await taker.has(5)
  await killed(server, before)
  await Promise.all(taker.items.map((item) => item.done()))
  await taker.has(10)
  await Promise.all(taker.items.map((item) => item.done()))
  t.equal(new Set(taker.items.map(({ id }) => id)).size, taker.items.length, 'none came twice')
})

t.test('an item is another’s, too, as far as a server can have forgotten that it handed it out', async (t) => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const { tasks } = await openQueues(t, server)
  await tasks.put('task_before', bytesOf(''))
  const takers = [new Taker(tasks, 1), new Taker(tasks, 3)] as const
  t.teardown(() => Promise.all(takers.map((taker) => taker.stop())))
  await until(() => takers.some(({ items }) => items.length === 1))
  const first = takers.find(({ items }) => items.length === 1)!
  t.match(first.items, [{ id: 'task_before', deliveries: 1, mayBeShared: true }])
  await first.items[0]!.done()
  await tasks.put('task_held', bytesOf(''))
  await until(() => takers.some(({ items }) => items.at(-1)?.id === 'task_held'))
  const held = takers.flatMap(({ items }) => items).find(({ id }) => id === 'task_held')!
  t.equal(held.mayBeShared, false)
  await server.stop('SIGKILL')
  await until(() => held.mayBeShared)
  await server.start()
  await until(() => takers.every(({ check }) => check.ok))
  await tasks.put('task_after', bytesOf(''))
  await until(() => takers.some(({ items }) => items.at(-1)?.id === 'task_after'))
  const after = takers.flatMap(({ items }) => items).find(({ id }) => id === 'task_after')!
  t.match(after, { deliveries: 1, mayBeShared: false })
})

t.test('an item that is withdrawn is done though the server forgot that it handed it out', async (t) => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const { tasks } = await openQueues(t, server)
  await tasks.put('task_0', bytesOf(''))
  const before = await consumerOf(server)
  const taker = new Taker(tasks, 1)
  t.teardown(() => taker.stop())
  const item = await taker.has(1)
  await tasks.withdraw('task_0')
  await killed(server, before)
  await item.done()
  await tasks.put('task_1', bytesOf(''))
  const next = await taker.has(2)
  t.equal(next.id, 'task_1')
  await next.done()
})
