import t from 'tap'
import { GatewayError } from '../../../../../src/errors/gateway-error.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'
import { until } from '../../../../support/clients.ts'
import {
  completionText,
  errorOf,
  jsonHead,
  plainAsk,
  type Serve,
  sheetOf,
  startEdge,
  textBytes,
} from '../../edge-fixture.ts'

const routeHeaders = ['fallback-level', 'fallback-model', 'router', 'resolved-model', 'output-cap'] as const

const routeOf = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries(
    routeHeaders
      .map((name) => [name, headers.get(`x-gateway-${name}`)] as const)
      .filter((entry): entry is [(typeof routeHeaders)[number], string] => entry[1] !== null),
  )

/** Answers with the candidate of this place in the plan. */
const serveAt = (place: number): Serve =>
  async function* (call, bill) {
    await bill(undefined, place)
    yield jsonHead(call, place)
    yield textBytes(completionText)
  }

const failAt = (place: number): Serve =>
  async function* (call) {
    yield* []
    const { level, model } = call.candidates[place]!
    throw new GatewayError('fallback_exhausted', 'All upstream providers failed.', { failedAt: { level, model } })
  }

t.test('an answer goes out as it came, with its length', async (t) => {
  const { post, calls } = await startEdge(t)
  const response = await post({ ...plainAsk, max_tokens: 5, unknown: [1] })
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'application/json')
  t.equal(response.headers.get('content-length'), String(completionText.length))
  t.equal(response.headers.get('x-request-id'), calls[0]?.requestId)
  t.equal(await response.text(), completionText)
  t.same(routeOf(response), {})
  t.match(calls[0], {
    body: { ...plainAsk, max_tokens: 5, unknown: [1] },
    stream: false,
    chain: false,
    outputCap: null,
    reserved: /^0\.000/,
  })
})

t.test('an answer in pieces', async (t) => {
  const serve: Serve = async function* (call, bill) {
    await bill()
    yield jsonHead(call)
    for (const piece of completionText.match(/.{1,50}/gs) ?? []) yield textBytes(piece)
  }
  const { post } = await startEdge(t, { serve })
  const response = await post(plainAsk)
  t.equal(await response.text(), completionText)
  t.equal(response.headers.get('content-length'), null)
})

t.test('an answer that breaks off between its pieces breaks the connection', async (t) => {
  const serve: Serve = async function* (call) {
    yield jsonHead(call)
    yield textBytes('{')
    yield textBytes('"id"')
    throw new GatewayError('upstream_error', 'The upstream is gone.')
  }
  const { post } = await startEdge(t, { serve })
  await t.rejects(post(plainAsk).then((response) => response.text()))
})

t.test('an answer without bytes is a fault of ours', async (t) => {
  const { post } = await startEdge(t, {
    serve: async function* (call) {
      yield jsonHead(call)
    },
  })
  t.equal((await post(plainAsk)).status, 500)
})

t.test('chains and routers', async (t) => {
  const models = ['openai/plain', 'openai/other']
  const rows: readonly (readonly [
    what: string,
    serve: Serve,
    ask: object,
    route: object,
    candidates: readonly string[],
  ])[] = [
    [
      'the first of a chain',
      serveAt(0),
      { extra_body: { models, route: 'fallback' } },
      { 'fallback-level': '0' },
      models,
    ],
    [
      'the second',
      serveAt(1),
      { extra_body: { models } },
      { 'fallback-level': '1', 'fallback-model': 'openai/other' },
      models,
    ],
    [
      'the top level',
      serveAt(1),
      { models, route: 'fallback' },
      { 'fallback-level': '1', 'fallback-model': 'openai/other' },
      models,
    ],
    ['nested wins', serveAt(0), { models: ['grok/plain'], extra_body: { models } }, { 'fallback-level': '0' }, models],
    [
      'a name that is not there counts',
      serveAt(0),
      { models: ['openai/absent', 'openai/other'] },
      { 'fallback-level': '1', 'fallback-model': 'openai/other' },
      ['openai/other'],
    ],
    ['a chain of one', serveAt(0), { models: ['plain'] }, { 'fallback-level': '0' }, ['openai/plain']],
    ['a router', serveAt(1), { model: 'gateway/auto' }, { router: 'auto', 'resolved-model': 'openai/other' }, models],
    ['an alias', serveAt(0), { model: 'plain' }, {}, ['openai/plain']],
    [
      'a router in a chain',
      serveAt(1),
      { models: ['gateway/auto', 'grok/plain'] },
      { 'fallback-level': '0', router: 'auto', 'resolved-model': 'openai/other' },
      [...models, 'grok/plain'],
    ],
  ]
  for (const [what, serve, ask, route, candidates] of rows) {
    const { post, calls, stop } = await startEdge(t, { serve })
    const response = await post({ ...plainAsk, ...ask })
    t.equal(response.status, 200, what)
    t.same(routeOf(response), route, what)
    t.same(
      calls[0]?.candidates.map(({ model }) => model),
      candidates,
      what,
    )
    for (const name of ['models', 'route', 'extra_body']) t.notOk(name in calls[0]!.body, `${what}: ${name} stays here`)
    await stop()
  }
})

t.test('the headers of a final failure', async (t) => {
  const rows = [
    [{ models: ['openai/plain', 'openai/other'] }, { 'fallback-level': '1', 'fallback-model': 'openai/other' }],
    [{ model: 'gateway/auto' }, { router: 'auto', 'resolved-model': 'openai/other' }],
  ] as const
  const { post } = await startEdge(t, { serve: failAt(1) })
  for (const [ask, route] of rows) {
    const response = await post({ ...plainAsk, ...ask })
    t.match(
      { status: response.status, ...(await errorOf(response)) },
      { status: 502, code: 'fallback_exhausted', type: 'upstream_error' },
    )
    t.same(routeOf(response), route)
  }
  t.test('and none without a chain', async (t) => {
    const { post } = await startEdge(t, { serve: failAt(0) })
    t.same(routeOf(await post(plainAsk)), {})
  })
})

t.test("an upstream's refusal keeps its status, and its code null where it has none", async (t) => {
  const { post } = await startEdge(t, {
    serve: () => {
      throw new GatewayError('invalid_request', 'The prompt is odd.', { status: 422, param: 'messages' })
    },
  })
  const response = await post(plainAsk)
  t.equal(response.status, 422)
  t.same(await errorOf(response), {
    message: 'The prompt is odd.',
    type: 'invalid_request_error',
    code: null,
    param: 'messages',
  })
})

t.test('the output cap is told where the wallet is the limit', async (t) => {
  // The body is 80 bytes, so at most 80 tokens of input at 1 and 1000 of output at 2 per million: 0.00208.
  const { post, calls } = await startEdge(t, { creditUsd: '0.001' })
  const response = await post(plainAsk)
  const bytes = JSON.stringify(plainAsk).length
  const affordable = Math.floor((1_000 - bytes) / 2)
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-gateway-output-cap'), String(affordable))
  t.equal(calls[0]?.outputCap, affordable)
  t.equal(calls[0]?.reserved, '0.001')
  t.test('and not where the caller is', async (t) => {
    const { post } = await startEdge(t, { creditUsd: '0.001' })
    t.same(routeOf(await post({ ...plainAsk, max_tokens: 100 })), {})
  })
})

t.test('a model without price costs nothing and reserves nothing', async (t) => {
  const free = sheetOf({ per_million_tokens: { input: '0', output: '0' } })
  const { post, calls } = await startEdge(t, { creditUsd: '0.000001', sheets: { 'openai/free': free } })
  t.equal((await post({ ...plainAsk, model: 'openai/free' })).status, 200)
  t.match(calls[0], { allowanceId: null, reserved: '0' })
})

t.test('while the log does not acknowledge, nothing is served', async (t) => {
  const { post, log, calls, url } = await startEdge(t)
  t.equal((await post(plainAsk)).status, 200)
  log.stall(Date.now() - 10_000)
  const inFlight = log.append([{ type: 'KeyRevoked', data: { keyId: 'key-9', workspaceId: 'acme' } }])
  const refused = await post(plainAsk)
  t.match(
    { status: refused.status, ...(await errorOf(refused)) },
    { status: 503, type: 'api_error', code: 'log_unavailable' },
  )
  t.match(refused.headers.get('retry-after'), /^[1-9][0-9]*$/)
  t.equal((await fetch(`${url}/readyz`)).status, 503)
  t.equal((await fetch(`${url}/healthz`)).status, 200)
  t.equal(calls.length, 1)
  log.resume()
  await inFlight
  t.equal((await post(plainAsk)).status, 200)
  t.equal((await fetch(`${url}/readyz`)).status, 200)
})

t.test('a log that stalls under a request: 503, and the request is closed in the log', async (t) => {
  const free = sheetOf({ per_million_tokens: { input: '0', output: '0' } })
  const { post, log, calls, tail } = await startEdge(t, { sheets: { 'openai/free': free } })
  log.stall()
  const refused = await post({ ...plainAsk, model: 'openai/free' })
  t.equal(refused.status, 503)
  t.equal(calls.length, 0, 'nothing was dispatched')
  const { promise: closed, resolve } = Promise.withResolvers<string | undefined>()
  tail.onApplied((applied) => {
    const end = applied.find((each) => each.closed !== null)
    if (end !== undefined) resolve(end.event.type)
  })
  log.resume()
  t.equal(await closed, 'RequestFailed')
  t.equal((await post(plainAsk)).status, 200)
})

t.test('acknowledged frames that do not come back: what is known may be old, so nothing is served', async (t) => {
  const free = sheetOf({ per_million_tokens: { input: '0', output: '0' } })
  const { post, log } = await startEdge(t, { sheets: { 'openai/free': free } })
  const ask = { ...plainAsk, model: 'openai/free' }
  log.deliver(false)
  t.equal((await post(ask)).status, 200)
  t.equal((await post(ask)).status, 200, 'a tail may lag a little')
  await new Promise((resolve) => setTimeout(resolve, sharedLimits.logStalledMs + 100))
  t.equal((await post(ask)).status, 503)
  log.deliver(true)
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  t.equal((await post(ask)).status, 200)
})

t.test('a log that is not followed: what is known may be old, so nothing is served', async (t) => {
  const { post, log, url } = await startEdge(t)
  log.behindSinceMs = performance.now()
  t.equal((await post(plainAsk)).status, 200, 'a consumer may be replaced')
  log.behindSinceMs -= sharedLimits.logStalledMs
  await until(() => performance.now() - log.behindSinceMs! > sharedLimits.logStalledMs)
  t.equal((await post(plainAsk)).status, 503)
  t.equal((await fetch(`${url}/readyz`)).status, 503)
  log.behindSinceMs = null
  t.equal((await post(plainAsk)).status, 200)
})
