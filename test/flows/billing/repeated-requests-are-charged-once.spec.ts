import OpenAI from 'openai'
import t from 'tap'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { checkCharges } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import {
  askKeyed,
  exactBody,
  exactUsd,
  type Keyed,
  type KeyedAnswer,
  keyedOptions,
  netUsd,
} from '../../support/keyed.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import { openKnownAccount, plainUsd, usdTimes, videoOptions, walletFigures } from '../../support/video.ts'

const { direct, postgres, nats } = await startExternalServers(t)
const running = await startRolesTogether(t, {
  external: direct,
  counts: { edge: 2 },
  ...videoOptions(keyedOptions.sheets),
  models: keyedOptions.models,
})
const { operator, sandbox, urls } = running
const [first = '', second = ''] = urls
const openAccount = (workspaceId: string, creditUsd = '1'): Promise<string> =>
  openKnownAccount(operator, urls, workspaceId, creditUsd)

const answered = async (asked: Keyed): Promise<KeyedAnswer> => {
  const answer = await askKeyed(asked)
  if (answer === null) throw new Error('the connection broke')
  return answer
}

t.test('at another edge, on every surface: the same bytes, and one charge', async (t) => {
  const secret = await openAccount('surfaces')
  const messages = [{ role: 'user', content: 'Hello!' }]
  const asks = [
    { path: '/v1/chat/completions', body: exactBody() },
    { path: '/v1/messages', body: JSON.stringify({ model: 'openai/exact', max_tokens: 20, messages }) },
    {
      path: '/v1/responses',
      body: JSON.stringify({ model: 'openai/exact', max_output_tokens: 20, input: 'Hello!', store: false }),
    },
  ]
  for (const { path, body } of asks) {
    const asked = { secret, key: `of ${path}`, path, body }
    const one = await answered({ ...asked, url: first })
    t.match(one, { status: 200, isReplayed: false, originalId: null }, path)
    for (const url of [second, first]) {
      const again = await answered({ ...asked, url })
      t.match(again, { status: 200, isReplayed: true, text: one.text, requestId: one.requestId })
    }
    const other = await answered({ ...asked, url: second, body: body.replace('20', '19') })
    t.match(other, { status: 422, code: 'idempotency_key_reused', shouldRetry: 'false', originalId: one.requestId })
  }
  await until(async () => (await netUsd(operator, 'surfaces')) === usdTimes(exactUsd, asks.length))
})

t.test('twenty clients at once, at two edges: one charge', async (t) => {
  const secret = await openAccount('crowd')
  const asked = { secret, key: 'crowd', body: exactBody(false, 'slow') }
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => answered({ ...asked, url: n % 2 === 0 ? first : second })),
  )
  const own = answers.filter(({ status, isReplayed }) => status === 200 && !isReplayed)
  t.equal(own.length, 1)
  for (const { status, text, isReplayed, code, shouldRetry, retryAfter } of answers)
    if (isReplayed) t.equal(text, own[0]?.text)
    else if (status !== 200) {
      t.match({ status, code, shouldRetry }, { status: 409, code: 'idempotency_key_in_use', shouldRetry: 'true' })
      t.match(retryAfter, /^[1-9][0-9]*$/)
    }
  t.match(await answered({ ...asked, url: second }), { isReplayed: true, text: own[0]?.text })
  await until(async () => (await netUsd(operator, 'crowd')) === exactUsd)
})

t.test('a stream that has ended', async (t) => {
  const secret = await openAccount('streams')
  const asked = { secret, key: 'stream', body: exactBody(true) }
  const one = await answered({ ...asked, url: first })
  t.ok(one.text.endsWith('data: [DONE]\n\n'))
  const again = await answered({ ...asked, url: second })
  t.match(again, { status: 200, isReplayed: true, text: one.text, requestId: one.requestId })
  await until(async () => (await netUsd(operator, 'streams')) === exactUsd)
})

t.test('a client that left finds its answer', async (t) => {
  const secret = await openAccount('leaver')
  const calls = sandbox.totals().calls
  const leaving = new AbortController()
  const left = fetch(`${first}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': 'left' },
    body: exactBody(false, 'slow'),
    signal: leaving.signal,
  }).catch(() => null)
  await until(() => sandbox.totals().calls > calls)
  leaving.abort()
  await left
  const asked = { url: second, secret, key: 'left', body: exactBody(false, 'slow') }
  await until(async () => (await answered(asked)).isReplayed)
  t.equal(sandbox.totals().calls, calls + 1)
  t.equal(await netUsd(operator, 'leaver'), exactUsd)
})

t.test('the key of another workspace is another key', async (t) => {
  const one = await openAccount('one')
  const other = await openAccount('other')
  const asked = { url: first, key: 'shared', body: exactBody() }
  t.match(await answered({ ...asked, secret: one }), { status: 200, isReplayed: false })
  t.match(await answered({ ...asked, secret: other }), { status: 200, isReplayed: false })
  t.match(await answered({ ...asked, secret: other, body: exactBody(true) }), { status: 422 })
  for (const workspaceId of ['one', 'other'])
    await until(async () => (await netUsd(operator, workspaceId)) === exactUsd)
})

class RetryingOpenAI extends OpenAI {
  protected override idempotencyHeader = 'Idempotency-Key'
}

t.test('the SDK of OpenAI, whose connection breaks, or which is too early', async (t) => {
  const secret = await openAccount('sdk')
  let asks = 0
  const losing = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    asks += 1
    const response = await fetch(url, init)
    if (asks > 1) return response
    await response.text()
    throw new TypeError('fetch failed')
  }
  const request = { model: 'openai/slow', max_tokens: 20, messages: [{ role: 'user' as const, content: 'Hello!' }] }
  const client = new RetryingOpenAI({ baseURL: `${first}/v1`, apiKey: secret, fetch: losing })
  const answer = await client.chat.completions.create(request)
  t.equal(asks, 2)
  t.equal(answer.usage?.completion_tokens, 20)
  await until(async () => (await netUsd(operator, 'sdk')) === exactUsd)

  const plain = new OpenAI({ baseURL: `${second}/v1`, apiKey: secret })
  const named = { headers: { 'Idempotency-Key': 'early' } }
  const [one, early] = await Promise.all([
    plain.chat.completions.create(request, named),
    plain.chat.completions.create(request, named),
  ])
  t.equal(early.id, one.id, 'whoever came second came again')
  t.equal(early._request_id, one._request_id)
  await until(async () => (await netUsd(operator, 'sdk')) === usdTimes(exactUsd, 2))

  const stream = { ...request, model: 'openai/exact', stream: true } as const
  const readStream = async (): Promise<readonly unknown[]> => {
    const parts: unknown[] = []
    const opened = await plain.chat.completions.create(stream, { headers: { 'Idempotency-Key': 'stream' } })
    for await (const part of opened) parts.push(part)
    return parts
  }
  const streamed = await readStream()
  const calls = sandbox.totals().calls
  t.same(await readStream(), streamed)
  t.equal(sandbox.totals().calls, calls)
})

t.test('videos on every surface: one task', async (t) => {
  const secret = await openAccount('films', '10')
  const asks = [
    { path: '/v1/video/generations', body: { model: 'vv/v3', prompt: 'A cat. [[never]]' } },
    { path: '/v1/videos', body: { model: 'vv/v3', prompt: 'A dog. [[never]]' } },
    { path: '/vv/v1/videos/text2video', body: { model_name: 'vv/v3', prompt: 'A cow. [[never]]' } },
  ]
  for (const { path, body } of asks) {
    const asked = { secret, key: path, path, body: JSON.stringify(body) }
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => answered({ ...asked, url: n % 2 === 0 ? first : second })),
    )
    const own = answers.find(({ status, isReplayed }) => status === 200 && !isReplayed)
    for (const { status, text, code } of answers)
      if (status === 200) t.equal(text, own?.text)
      else t.equal(code, 'idempotency_key_in_use')
    t.match(await answered({ ...asked, url: second }), { isReplayed: true, text: own?.text })
  }
  t.match(await walletFigures(operator, 'films'), { held: usdTimes(plainUsd, asks.length) })
})

t.test('with PostgreSQL stopped', async (t) => {
  const secret = await openAccount('without-tables')
  const asked = { secret, key: 'dark', body: exactBody() }
  await postgres.stop()
  const one = await answered({ ...asked, url: first })
  t.match(one, { status: 200, isReplayed: false })
  t.match(await answered({ ...asked, url: second }), { status: 200, isReplayed: true, text: one.text })
  await postgres.start()
  await until(async () => (await netUsd(operator, 'without-tables')) === exactUsd)
})

t.test('with NATS stopped: 503, and nothing hangs', async (t) => {
  const secret = await openAccount('without-log')
  const asked = { url: first, secret, key: 'away', body: exactBody() }
  const kept = { ...asked, key: 'kept' }
  const one = await answered(kept)
  await nats.stop('SIGKILL')
  for (const each of [asked, kept]) {
    const askedMs = Date.now()
    const refused = await answered(each)
    t.match(refused, { status: 503, code: 'log_unavailable', retryAfter: /^[1-9]/ })
    t.ok(Date.now() - askedMs < sharedLimits.closingAckMs + sharedLimits.routedAckMs)
  }
  await nats.start()
  await until(async () => (await answered(asked)).status === 200)
  await until(async () => (await answered(kept)).isReplayed)
  t.equal((await answered(kept)).text, one.text)
  // The operator's connection comes back by itself, and maybe after the gateways'.
  await until(() => operator.log.lastSequence().then(Boolean, () => false))
  await until(async () => (await netUsd(operator, 'without-log')) === usdTimes(exactUsd, 2))
  await checkCharges(t, running)
})
