import { setTimeout as delay } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats } from '../../../../src/infrastructure/nats/connect.ts'
import { until } from '../open.ts'
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
