import t from 'tap'
import { openQueues, startQueueServer } from './open.ts'

const { server, jsm } = await startQueueServer(t)

const messageOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'opened',
    (error: Error) => error.message,
  )

t.test('queues that are not there are made only by those who may make them', async (t) => {
  const words = /the work queue NOPE_TASKS does not exist on this server; an operator's command/
  await t.rejects(openQueues(t, server, { name: 'NOPE', create: false }), words)
  await openQueues(t, server, { name: 'NOPE' })
  await openQueues(t, server, { name: 'NOPE', create: false })
  await jsm.consumers.delete('NOPE_TASKS', 'callbacks')
  await t.rejects(
    openQueues(t, server, { name: 'NOPE', create: false }),
    /the consumer callbacks of NOPE_TASKS does not exist/,
  )
  await openQueues(t, server, { name: 'NOPE', create: false, takes: false })
})

t.test('a stream with other settings is refused, and each difference is named', async (t) => {
  await jsm.streams.add({ name: 'OTHER_TASKS', subjects: ['other.>'], max_msgs: 1000, allow_direct: true })
  const message = await messageOf(openQueues(t, server, { name: 'OTHER' }))
  t.match(message, /^stream OTHER_TASKS cannot hold the work queue: /)
  for (const part of [
    'subjects is ["other.>"], not ["other.task.*","other.task-part.*.*","other.callback.*","other.callback-part.*.*"]',
    'max_msgs is 1000, not -1',
    'max_msgs_per_subject is -1, not 1',
    'retention is "limits", not "workqueue"',
    'discard is "old", not "new"',
    'discard_new_per_subject is false, not true',
    'allow_direct is true, not false',
    'duplicate_window is 120000000000, not 60000000000',
  ])
    t.ok(message.includes(part), part)
})

t.test('a consumer with other settings is refused, and each difference is named', async (t) => {
  await openQueues(t, server, { name: 'DIFFERENT', leaseMs: 5_000 })
  await jsm.consumers.delete('DIFFERENT_TASKS', 'callbacks')
  await jsm.consumers.add('DIFFERENT_TASKS', {
    durable_name: 'callbacks',
    filter_subject: 'different.callback.*',
    ack_policy: 'explicit',
    max_deliver: 3,
    mem_storage: true,
  })
  t.match(
    await messageOf(openQueues(t, server, { name: 'DIFFERENT' })),
    /^the consumer tasks cannot hand out the work of DIFFERENT_TASKS: ack_wait is 5000000000, not 30000000000; one that is deleted is made again$/,
  )
  const message = await messageOf(openQueues(t, server, { name: 'DIFFERENT', leaseMs: 5_000 }))
  for (const part of [
    'the consumer callbacks cannot',
    'ack_wait is 30000000000, not 5000000000',
    'max_deliver is 3, not -1',
    'max_ack_pending is 1000, not 2000',
    'headers_only is false, not true',
    'mem_storage is true, not absent',
  ])
    t.ok(message.includes(part), part)
})
