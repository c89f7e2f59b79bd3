import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { openWorkQueues, type QueueOptions, type WorkQueues } from '../../../../src/adapters/nats/work-queue/open.ts'
import type { WorkItem } from '../../../../src/roles/work-queue.ts'
import { recordingLogger } from '../../../support/log-lines.ts'
import { NatsCluster, type User } from '../cluster.ts'
import { bytesOf, megabytes, textOf } from './open.ts'

/** The servers wait 4 to 9 s, each its own time, before they elect another leader; two that clash do so again. */
const electionMs = 25_000

const cluster = await NatsCluster.create()
const opened: { readonly queues: WorkQueues; readonly connection: NatsConnection }[] = []
t.teardown(async () => {
  for (const { queues, connection } of opened) await queues.close().then(() => connection.close())
  await cluster.remove()
})

const openAs = async (user: User, overrides: Partial<QueueOptions>): Promise<WorkQueues> => {
  const connection = await connectNats({ ...cluster.accessOf(user), role: user, name: user })
  try {
    const queues = await openWorkQueues({
      connection,
      name: 'GATEWAY',
      role: user,
      replicas: 3,
      durability: 'synced',
      create: false,
      clock: Date.now,
      logger: recordingLogger(),
      ...overrides,
    })
    opened.push({ queues, connection })
    return queues
  } catch (error) {
    await connection.close()
    throw error
  }
}

t.test('only the operator makes the queues', async (t) => {
  await t.rejects(openAs('edge', { puts: true }), /the work queue GATEWAY_TASKS does not exist on this server/)
  await t.rejects(
    openAs('edge', { create: true }),
    /the work queue GATEWAY_TASKS does not exist, and this user may not/,
  )
  await openAs('operator', { create: true })
  await openAs('operator', { create: true })
})

t.test('a role that may not queue tasks is told at its start', async (t) => {
  await t.rejects(
    openAs('video-poller', { puts: true }),
    /no task can be queued: Permissions Violation.*gateway.task.new/,
  )
})

t.test('the edge queues, the video-poller does, and queues callbacks', async (t) => {
  const edge = await openAs('edge', { puts: true })
  const poller = await openAs('video-poller', { takes: true })
  const bytes = megabytes(3)
  await edge.tasks.put('task_large', bytes)
  const came = Promise.withResolvers<WorkItem>()
  const taking = poller.tasks.take(10, came.resolve)
  const item = await came.promise
  const found = await item.bytes()
  t.ok(found !== null && bytes.equals(found))
  item.renew()
  await poller.callbacks.put('task_large', bytesOf('ended'))
  await item.done()
  await edge.tasks.put('task_refused', bytes)
  await edge.tasks.withdraw('task_refused')
  await edge.tasks.withdraw('task_large')
  await taking.stop()
  const callback = Promise.withResolvers<WorkItem>()
  const sending = poller.callbacks.take(10, callback.resolve)
  t.equal(await textOf(await callback.promise), 'ended')
  await (await callback.promise).done()
  await sending.stop()
})

t.test('the leader killed: what was put is handed out, what is held stays, and the queue goes on', async (t) => {
  const edge = await openAs('edge', { puts: true })
  const takers = [await openAs('video-poller', { takes: true }), await openAs('video-poller', { takes: true })]
  const put = new Set<string>()
  const done = new Map<string, number>()
  const held = new Map<string, { readonly taker: number; readonly item: WorkItem }>()
  const faults: string[] = []
  const waiting = new Set<() => void>()
  const proceeds = async (isThere: () => boolean): Promise<void> => {
    const there = Promise.withResolvers<void>()
    const check = (): void => {
      if (isThere()) there.resolve()
    }
    waiting.add(check)
    const timer = setTimeout(() => there.reject(new Error(`never: ${isThere}`)), electionMs)
    check()
    await there.promise.finally(() => clearTimeout(timer))
    waiting.delete(check)
  }
  const finish = async (item: WorkItem): Promise<void> => {
    if ((await item.bytes()) === null) faults.push(`${item.id} is gone`)
    await item.done()
    done.set(item.id, (done.get(item.id) ?? 0) + 1)
    for (const check of waiting) check()
  }
  const taking = takers.map(({ tasks }, taker) =>
    tasks.take(500, (item) => {
      if (!item.id.startsWith('held_')) return void finish(item).catch((fault: Error) => faults.push(fault.message))
      const before = held.get(item.id)
      if (before !== undefined) faults.push(`${item.id} came to ${taker} too, for the ${item.deliveries}. time`)
      held.set(item.id, { taker, item })
      for (const check of waiting) check()
    }),
  )
  for (let n = 0; n < 50; n += 1) await edge.tasks.put(`held_${n}`, bytesOf('held'))
  await proceeds(() => held.size === 50)
  const renewing = setInterval(() => {
    for (const { item } of held.values()) item.renew()
  }, 5_000)
  t.teardown(() => clearInterval(renewing))
  let isRunning = true
  const putting = Promise.all(
    Array.from({ length: 5 }, async (_, writer) => {
      for (let index = 0; isRunning; index += 1) {
        const id = `task_${writer}_${index}`
        const stored = await edge.tasks.put(id, bytesOf(id)).then(
          () => true,
          () => false,
        )
        if (stored) put.add(id)
      }
    }),
  )
  await proceeds(() => done.size > 200)
  const leader = await cluster.leaderOf('GATEWAY_TASKS')
  await cluster.kill(leader ?? 0)
  const killedMs = Date.now()
  const before = done.size
  await proceeds(() => done.size > before + 200)
  t.comment(`node ${leader} killed: 200 more are done after ${Date.now() - killedMs} ms`)
  await cluster.start(leader ?? 0)
  const again = done.size
  await proceeds(() => done.size > again + 200)
  isRunning = false
  await putting
  await proceeds(() => [...put].every((id) => done.has(id)))
  for (const { item } of held.values()) await finish(item)
  for (const each of taking) await each.stop()
  t.same(faults, [])
  const twice = [...done.values()].filter((times) => times > 1).length
  t.comment(`${put.size} items put, ${twice} handed out twice`)
})
