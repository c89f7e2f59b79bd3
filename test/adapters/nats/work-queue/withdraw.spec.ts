import t from 'tap'
import { until } from '../../../support/clients.ts'
import { bytesOf, megabytes, openQueues, startQueueServer, Taker, textOf } from './open.ts'

const { server, jsm, standing } = await startQueueServer(t)

t.test('what is withdrawn is gone with its pieces, and nothing else is', async (t) => {
  const { tasks, callbacks } = await openQueues(t, server, { name: 'GONE' })
  await tasks.put('task_large', megabytes(2))
  await tasks.put('task_small', bytesOf('small'))
  await callbacks.put('task_small', bytesOf('a callback'))
  await tasks.put('task_kept', megabytes(1))
  const before = await standing('GONE_TASKS')
  await tasks.withdraw('task_large')
  await tasks.withdraw('task_small')
  await tasks.withdraw('task_never_put')
  t.equal(await standing('GONE_TASKS'), before - 6)
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  const kept = await taker.has(1)
  t.equal(kept.id, 'task_kept')
  t.equal((await kept.bytes())?.length, 1024 * 1024)
  await t.rejects(tasks.withdraw('*'), /cannot be the id/)
})

t.test('what is withdrawn from its taker is found empty, and ends all the same', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'TAKEN' })
  for (const [id, bytes] of [
    ['task_large', megabytes(2)],
    ['task_small', bytesOf('small')],
    ['task_next', bytesOf('next')],
  ] as const)
    await tasks.put(id, bytes)
  const taker = new Taker(tasks, 2)
  t.teardown(() => taker.stop())
  await taker.has(2)
  for (const { id } of taker.items) await tasks.withdraw(id)
  for (const item of taker.items.slice(0, 2)) {
    t.equal(await item.bytes(), null, item.id)
    item.renew()
    await item.done()
  }
  t.equal(await textOf(await taker.has(3)), 'next', 'its place is free')
  await taker.items[2]?.done()
  t.equal(await standing('TAKEN_TASKS'), 0)
  t.match(await jsm.consumers.info('TAKEN_TASKS', 'tasks'), { num_ack_pending: 0, num_pending: 0 })
})

t.test('what was withdrawn can be put again at once', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'AGAIN' })
  for (const bytes of [megabytes(2), bytesOf('again')]) {
    await tasks.put('task_again', bytes)
    await tasks.withdraw('task_again')
  }
  await tasks.put('task_again', bytesOf('again'))
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  t.equal(await textOf(await taker.has(1)), 'again')
})

t.test('what was withdrawn from its taker and put again is what the taker has', async (t) => {
  const { tasks } = await openQueues(t, server, { name: 'RENEWED' })
  await tasks.put('task_a', megabytes(2))
  const taker = new Taker(tasks)
  t.teardown(() => taker.stop())
  const item = await taker.has(1)
  await tasks.withdraw('task_a')
  await tasks.put('task_a', bytesOf('again'))
  await until(() => item.deliveries === 2)
  t.equal(await textOf(item), 'again')
  await item.done()
  t.equal(await standing('RENEWED_TASKS'), 0)
})
