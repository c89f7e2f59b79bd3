import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { logUnavailable } from '../../../../../src/errors/gateway-error.ts'
import type { Limits } from '../../../../../src/events/types.ts'
import { until } from '../../../../support/clients.ts'
import {
  answerJson,
  type EdgeOptions,
  errorOf,
  plainAsk,
  type Serve,
  startEdge,
  streamHead,
  type TestEdge,
  textBytes,
  workspaceId,
} from '../../edge-fixture.ts'
import { MemoryRates } from '../../memory-rates.ts'

type Test = Parameters<typeof startEdge>[0]

const setLimits = async (edge: TestEdge, limits: Limits, keyId?: string): Promise<void> => {
  const data = { workspaceId, ...(keyId === undefined ? {} : { keyId }), limits }
  const { sequence } = await edge.log.append([{ type: 'LimitsSet', data }])
  await edge.tail.waitForSequence(sequence)
}

const startLimited = async (t: Test, limits: Limits, options: EdgeOptions = {}): Promise<TestEdge> => {
  const edge = await startEdge(t, options)
  await setLimits(edge, limits)
  return edge
}

const headersOf = (response: Response): Record<string, string> =>
  Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('x-ratelimit') || name === 'retry-after'))

t.test('requests: what is left is told in every answer, and a refusal says when to come back', async (t) => {
  const edge = await startLimited(t, { requestsPerMinute: 60 })
  const first = await edge.post(plainAsk)
  t.equal(first.status, 200)
  t.match(headersOf(first), {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': /^([1-9]\d{0,2}ms|1s)$/,
  })
  t.equal((await edge.post('{')).headers.get('x-ratelimit-limit-requests'), '60', 'in an error too')
  await setLimits(edge, { requestsPerMinute: 6 })
  const refused = await edge.post(plainAsk)
  t.match(
    { status: refused.status, ...(await errorOf(refused)), ...headersOf(refused) },
    {
      status: 429,
      code: 'rate_limit_exceeded',
      message: 'The workspace is limited to 6 requests a minute.',
      'retry-after': /^([1-9]|1\d|20)$/,
      'x-ratelimit-remaining-requests': '0',
    },
  )
  const frames = edge.log.frames.length
  await edge.post(plainAsk)
  t.equal(edge.log.frames.length, frames, 'a refusal writes nothing')
  await setLimits(edge, { requestsPerMinute: 60_000 })
  t.equal((await edge.post(plainAsk)).status, 200, 'a raised limit counts at once')
})

t.test('the configuration counts where the workspace says nothing else', async (t) => {
  const edge = await startEdge(t, { requestsPerMinute: 1 })
  t.equal((await edge.post(plainAsk)).headers.get('x-ratelimit-limit-requests'), '1')
  t.equal((await edge.post(plainAsk)).status, 429)
  await setLimits(edge, { requestsPerMinute: 6_000 })
  t.equal((await edge.post(plainAsk)).headers.get('x-ratelimit-limit-requests'), '6000')
})

t.test('a key has its own, and the tightest is told', async (t) => {
  const edge = await startLimited(t, { requestsPerMinute: 6_000 })
  await setLimits(edge, { requestsPerMinute: 30, tokensPerMinute: 90_000 }, 'key-1')
  const first = await edge.post(plainAsk)
  t.match(headersOf(first), {
    'x-ratelimit-limit-requests': '30',
    'x-ratelimit-limit-tokens': '90000',
    'x-ratelimit-remaining-tokens': /^(29\d\d|3000)$/, // What it took is back in milliseconds.
    'x-ratelimit-reset-tokens': /^\d+m?s$/,
  })
  t.match(await errorOf(await edge.post(plainAsk)), { message: 'The key is limited to 30 requests a minute.' })
})

t.test('without a limit there is neither header nor question', async (t) => {
  const rateRecords = new MemoryRates()
  const edge = await startEdge(t, { rateRecords })
  t.same(headersOf(await edge.post(plainAsk)), {})
  t.equal(rateRecords.calls, 0)
})

t.test('at once: from the first byte to the end of the answer, however it ends', async (t) => {
  let release = (): void => undefined
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    yield textBytes('data: {}\n\n')
    await new Promise<void>((resolve) => {
      release = resolve
    })
    await bill()
    yield textBytes('data: [DONE]\n\n')
  }
  const edge = await startLimited(t, { concurrentRequests: 1 }, { serve })
  const streamed = { ...plainAsk, stream: true }
  const first = await edge.post(streamed)
  t.equal(first.status, 200)
  const refused = await edge.post(streamed)
  t.match(
    { status: refused.status, ...(await errorOf(refused)), ...headersOf(refused) },
    {
      status: 429,
      code: 'concurrency_limit_exceeded',
      message: 'The workspace is limited to 1 requests at once.',
      'retry-after': '1',
    },
  )
  release()
  await first.text()
  t.equal((await edge.post('{')).status, 400)
  const second = await edge.post(streamed)
  t.equal(second.status, 200, 'an error gives its place back, and so does an end')
  await second.body?.cancel()
  release()
  let third = await edge.post(streamed)
  for (; third.status === 429; third = await edge.post(streamed)) await pause(10)
  t.equal(third.status, 200, 'and a client that leaves')
  release()
  await third.text()
})

t.test('tokens: what a request used is counted when its end is in the log', async (t) => {
  const edge = await startLimited(
    t,
    { tokensPerMinute: 3_000 },
    {
      serve: async function* (call, bill) {
        yield* answerJson(call, () => bill({ input: 500, output: 700 }))
      },
    },
  )
  t.equal((await edge.post(plainAsk)).status, 200)
  await until(async () => (await edge.post(plainAsk)).status === 429)
  const refused = await edge.post(plainAsk)
  t.match(await errorOf(refused), { message: 'The workspace is limited to 3000 tokens a minute.' })
  t.ok(Number(refused.headers.get('retry-after')) >= 10, 'a minute’s tokens are owed')
})

t.test('tokens that were not used come back', async (t) => {
  const edge = await startLimited(t, { tokensPerMinute: 6_000 }, { creditUsd: '0.000001' })
  for (let asks = 0; asks < 20; asks += 1) t.equal((await edge.post(plainAsk)).status, 402)
})

t.test('of one model: it is passed over in a chain, and refused alone', async (t) => {
  const limits = { models: { 'openai/plain': { requestsPerMinute: 1 } } }
  const edge = await startLimited(t, limits, { catalog: { acceptSnapshots: true } })
  const chain = { ...plainAsk, extra_body: { models: ['openai/plain', 'openai/other'] } }
  t.equal((await edge.post(plainAsk)).headers.get('x-ratelimit-limit-requests'), '1')
  const other = await edge.post(chain)
  t.equal(other.status, 200)
  t.equal(
    edge.calls
      .at(-1)
      ?.candidates.map(({ model }) => model)
      .join(),
    'openai/other',
  )
  t.match(await errorOf(await edge.post(plainAsk)), {
    code: 'rate_limit_exceeded',
    message: 'The workspace is limited to 1 requests a minute of the model `openai/plain`.',
  })
  t.match(await errorOf(await edge.post({ ...plainAsk, model: 'openai/plain-2026-01-01' })), {
    code: 'rate_limit_exceeded',
  })
  t.equal((await edge.post({ ...plainAsk, model: 'openai/other' })).status, 200)
})

t.test('a chain counts for the model that answered', async (t) => {
  const models = { 'openai/plain': { requestsPerMinute: 1 }, 'openai/other': { requestsPerMinute: 1 } }
  const edge = await startLimited(t, { models })
  const chain = { ...plainAsk, extra_body: { models: ['openai/plain', 'openai/other'] } }
  t.equal((await edge.post(chain)).status, 200)
  await until(async () => (await edge.post({ ...plainAsk, model: 'openai/other' })).status === 200)
  t.equal((await edge.post(plainAsk)).status, 429)
})

t.test('where nothing can be learnt of the limit, nothing is served, and at once', async (t) => {
  const rateRecords = new MemoryRates(async () => {
    throw logUnavailable()
  })
  const edge = await startLimited(t, { requestsPerMinute: 60 }, { rateRecords })
  const refused = await edge.post(plainAsk)
  t.match(
    { status: refused.status, ...(await errorOf(refused)), ...headersOf(refused) },
    { status: 503, code: 'log_unavailable', 'retry-after': '1' },
  )
})
