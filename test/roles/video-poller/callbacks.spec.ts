import { createHmac, webcrypto } from 'node:crypto'
import t, { type Test } from 'tap'
import { HttpFault, type HttpRequest, type HttpResponse } from '../../../src/providers/http.ts'
import { type PollerBounds, pollerBoundsWith } from '../../../src/roles/video-poller/bounds.ts'
import { decodeCallback, encodeCallback } from '../../../src/roles/video-poller/callback-message.ts'
import { CallbackSender } from '../../../src/roles/video-poller/callback-sender.ts'
import { noObserver } from '../../../src/runtime/observer.ts'
import { webhookSignature } from '../../../src/runtime/webhooks.ts'
import { until } from '../../support/clients.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { FakeQueue } from './fake-queue.ts'
import { isDone, startProcess, World } from './world.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const message = { url: 'https://caller.example/hook?token=hush', workspaceId: 'acme', body: '{"task_id":"task_1"}' }

type Answer = (request: HttpRequest, attempt: number) => number | Promise<number>

const sending = (t: Test, answer: Answer, bounds: Partial<PollerBounds> = {}) => {
  const queue = new FakeQueue()
  const requests: HttpRequest[] = []
  const lines: string[] = []
  const log = new MemoryLog({ checksSchemas: true })
  let nowMs = 1_700_000_000_900
  const request = async (asked: HttpRequest): Promise<HttpResponse> => {
    requests.push(asked)
    nowMs += 60_000
    const status = await answer(asked, requests.length)
    return { status, headers: {}, body: (async function* () {})(), takeArrived: () => [], discard: () => undefined }
  }
  const sender = new CallbackSender({
    log,
    callbacks: queue,
    webhooks: { http: { request }, secretOf: (workspaceId) => (workspaceId === 'acme' ? secret : 'whsec_AAAA') },
    clock: () => nowMs,
    random: () => 0,
    observer: noObserver,
    logger: { log: (event, fields) => void lines.push(JSON.stringify([fields, event])) },
    bounds: pollerBoundsWith({ stopMs: 20, lastAnswerMs: 200, ...bounds }),
  })
  t.teardown(() => sender.stop())
  return { queue, requests, lines, log, sender }
}

const put = (queue: FakeQueue, id = 'task_1', workspaceId = 'acme'): Promise<void> =>
  queue.put(id, encodeCallback({ ...message, workspaceId }))
const isPosted =
  (queue: FakeQueue, id = 'task_1') =>
  (): boolean =>
    queue.done.includes(id)

t.test('the signature is that of Standard Webhooks', async (t) => {
  // The example of its own specification.
  t.equal(
    webhookSignature(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}'),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
  t.equal(
    webhookSignature(secret.slice(6), 'a', 1, 'b'),
    webhookSignature(secret, 'a', 1, 'b'),
    'the prefix is optional',
  )
})

t.test('what is posted, and that its receiver can verify it', async (t) => {
  const { queue, requests } = sending(t, () => 200)
  await put(queue)
  await until(isPosted(queue))
  t.equal(requests.length, 1)
  const { url, method, headers, body } = requests[0]!
  t.same([url, method, body], [message.url, 'POST', message.body])
  t.match(headers, {
    'content-type': 'application/json',
    'user-agent': /gateway/,
    'webhook-id': 'task_1',
    'webhook-timestamp': '1700000000',
  })
  const key = await webcrypto.subtle.importKey(
    'raw',
    Buffer.from(secret.replace('whsec_', ''), 'base64'),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  )
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  const [version, signature] = headers['webhook-signature']!.split(',')
  t.equal(version, 'v1')
  t.ok(await webcrypto.subtle.verify('HMAC', key, Buffer.from(signature!, 'base64'), signed))
})

t.test('a receiver that fails is tried again, further and further apart, under the same id', async (t) => {
  const { queue, requests, lines, log } = sending(t, () => 500)
  await put(queue)
  await until(isPosted(queue))
  t.same(
    queue.again.map(({ delayMs }) => delayMs),
    [40_000, 160_000, 640_000, 2_560_000],
  )
  t.same(new Set(requests.map(({ headers }) => headers['webhook-id'])), new Set(['task_1']))
  t.same(
    requests.map(({ headers }) => headers['webhook-timestamp']),
    ['1700000000', '1700000060', '1700000120', '1700000180', '1700000240'],
    'the time is that of the attempt',
  )
  for (const { headers, body } of requests) {
    const signed = `task_1.${headers['webhook-timestamp']}.${body}`
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    t.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  }
  t.equal(lines.length, 1, 'it is given up aloud')
  const failure = { taskId: 'task_1', workspaceId: 'acme', reason: 'status 500' }
  t.match(
    log.events.map(({ type, data }) => [type, data]),
    [
      ['CallbackFailed', { ...failure, tries: 1, givenUp: false }],
      ['CallbackFailed', { ...failure, tries: 5, givenUp: true }],
    ],
    'the first try and the last are in the log',
  )
  t.notOk(/hush|whsec/.test(lines.join() + JSON.stringify(log.events)), 'addresses and secrets are not told')
})

t.test('a log that does not take the failure keeps no callback back', async (t) => {
  const { queue, requests, log } = sending(t, (_request, attempt) => (attempt < 3 ? 500 : 200))
  log.refuse()
  await put(queue)
  await until(isPosted(queue))
  t.equal(requests.length, 3)
})

t.test('it ends with the first yes, and with 410', async (t) => {
  for (const [answers, tries] of [
    [[503, 302, 204], 3],
    [[410], 1],
    [[404, 200], 2],
  ] as const) {
    const { queue, requests, log } = sending(t, (_request, attempt) => answers[attempt - 1]!)
    await put(queue)
    await until(isPosted(queue))
    t.equal(requests.length, tries)
    t.equal(log.events.length, answers.length > 1 ? 1 : 0)
  }
})

t.test('a network that fails is tried again', async (t) => {
  const { queue, requests } = sending(t, (_request, attempt) => {
    if (attempt < 3) throw new HttpFault('network')
    return 200
  })
  await put(queue)
  await until(isPosted(queue))
  t.equal(requests.length, 3)
})

t.test('an address that may not be called is tried once more, and told without its path and query', async (t) => {
  const { queue, requests, lines } = sending(t, () => {
    throw new HttpFault('refused', new Error('an address that is not public'))
  })
  await put(queue)
  await until(isPosted(queue))
  t.equal(requests.length, 2)
  t.same(
    lines.map((line) => JSON.parse(line)[0]),
    [
      {
        taskId: 'task_1',
        outcome: 'refused',
        host: 'caller.example',
        reason: 'an address that is not public',
      },
    ],
  )
})

t.test('a callback that cannot be sent or read is given up', async (t) => {
  const { queue, requests } = sending(t, () => {
    throw new TypeError('Invalid URL: hush')
  })
  await put(queue)
  await until(isPosted(queue))
  t.equal(requests.length, 5)
  for (const bytes of ['', 'null', '{"url":1}']) {
    const broken = sending(t, () => 200)
    await broken.queue.put('task_2', Buffer.from(bytes))
    await until(isPosted(broken.queue, 'task_2'))
    t.same(broken.requests, [])
  }
  t.equal(decodeCallback(Buffer.from('{}')), null)
})

t.test('a receiver that does not answer is given up after a bound', async (t) => {
  const { queue, requests } = sending(
    t,
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new HttpFault('aborted')), { once: true })
      }),
    { callbackMs: 10 },
  )
  await put(queue)
  await until(isPosted(queue))
  t.equal(requests.length, 5)
})

t.test('few posts at once, and a sender that stops waits for none for ever', async (t) => {
  const { queue, requests, sender } = sending(
    t,
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new HttpFault('aborted')), { once: true })
      }),
    { callbacksMax: 4 },
  )
  for (const id of ['task_1', 'task_2', 'task_3']) await put(queue, id)
  await until(() => requests.length === 2)
  await sender.stop()
  t.equal(requests.length, 2)
  t.same(queue.done, [])
  t.equal(queue.entries.size, 3)
})

t.test('receivers of one workspace that do not answer hold up no other, and those that wait stay leased', async (t) => {
  const never = new Promise<number>(() => {})
  const { queue, requests, sender } = sending(
    t,
    ({ headers }) => (headers['webhook-id']?.startsWith('hog') ? never : 200),
    { callbacksMax: 4, queueRenewMs: 5 },
  )
  for (let place = 0; place < 50; place += 1) await put(queue, `hog_${place}`, 'hog')
  await until(() => requests.length === 2)
  await put(queue)
  await until(isPosted(queue))
  t.equal(requests.length, 3)
  const { renewals } = queue
  await until(() => queue.renewals >= renewals + 50)
  await sender.stop()
  t.equal(requests.length, 3, 'what waits is left to the next one')
})

t.test('a slow receiver holds up no task', async (t) => {
  const world = new World()
  const webhooks = { http: { request: () => new Promise<never>(() => {}) }, secretOf: () => secret }
  await startProcess(t, world, { webhooks, bounds: { callbacksMax: 1, stopMs: 20 } })
  const ids = Array.from({ length: 20 }, (_, n) => `task_${n}`)
  for (const taskId of ids) await world.order({ taskId })
  for (const taskId of ids) await until(isDone(world, taskId))
  t.equal(world.callbacks.puts.length, 20)
  t.equal(world.events('TaskSettled').length, 20)
})
