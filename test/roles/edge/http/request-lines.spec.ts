import { connect } from 'node:net'
import t from 'tap'
import { clientGoneError, GatewayError } from '../../../../src/errors/gateway-error.ts'
import { until } from '../../../support/clients.ts'
import type { LogLine } from '../../../support/log-lines.ts'
import {
  jsonHead,
  plainAsk,
  type Serve,
  secret,
  startEdge,
  streamHead,
  type TestEdge,
  textBytes,
} from '../edge-fixture.ts'

const linesOf = ({ logged }: TestEdge): readonly LogLine[] =>
  logged.filter(({ event }) => event === 'request.served' || event === 'request.health_checked')

/** The line of the next request. */
const lineOf = async (edge: TestEdge, ask: () => Promise<Response>): Promise<LogLine> => {
  const before = linesOf(edge).length
  const response = await ask()
  await response.text().catch(() => undefined)
  await until(() => linesOf(edge).length > before)
  const line = linesOf(edge)[before]!
  t.match(line.fields, { requestId: response.headers.get('x-request-id'), status: response.status })
  return line
}

t.test('a line a request, with what it came to', async (t) => {
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    yield textBytes('data: {}\n\n')
    await bill()
    yield textBytes('data: [DONE]\n\n')
  }
  const edge = await startEdge(t, { requestLines: true, serve })
  const line = await lineOf(edge, () =>
    edge.post({ ...plainAsk, model: 'gateway/auto', stream: true }, { 'x-request-id': 'checkout-42/7' }),
  )
  t.match(line, {
    level: 'info',
    fields: {
      clientRequestId: 'checkout-42/7',
      method: 'POST',
      route: '/v1/chat/completions',
      surface: 'chat',
      workspaceId: 'acme',
      keyId: String,
      model: 'openai/plain',
      provider: 'openai',
      fallbackLevel: 0,
      stream: true,
      chargeUsd: '0.00002',
      ms: Number,
    },
  })
  t.ok(Number(Object(line.fields).bytes) > 100)
})

t.test("the client's id of a request is logged where it is one", async (t) => {
  const edge = await startEdge(t, { requestLines: true })
  const logged = async (headers: Record<string, string>): Promise<unknown> =>
    Object((await lineOf(edge, () => edge.post(plainAsk, headers))).fields).clientRequestId
  t.equal(await logged({ 'x-client-request-id': 'a-1', 'x-request-id': 'b-2' }), 'a-1')
  t.equal(await logged({}), undefined)
  for (const other of ['two words', 'x'.repeat(129), 'sk-live-0123456789', '<script>'])
    t.equal(await logged({ 'x-request-id': other }), undefined, other)
})

t.test('what failed has the code that its client was told, and no charge', async (t) => {
  const serve: Serve = (call) => {
    const [first] = call.candidates
    throw new GatewayError('upstream_error', 'The upstream provider failed.', {
      failedAt: { level: 0, model: first!.model },
    })
  }
  const edge = await startEdge(t, { requestLines: true, serve })
  const failed = await lineOf(edge, () => edge.post(plainAsk))
  t.match(failed.fields, { status: 502, code: 'upstream_error', model: 'openai/plain', provider: 'openai' })
  t.equal(Object(failed.fields).chargeUsd, undefined)
  const unknown = await lineOf(edge, () => edge.post({ ...plainAsk, model: 'openai/PLANTED' }))
  t.match(unknown.fields, { status: 404, code: 'model_not_found', workspaceId: 'acme' })
  const stranger = await lineOf(edge, () => edge.post(plainAsk, { authorization: 'Bearer sk-PLANTED' }))
  t.match(stranger.fields, { status: 401, code: 'invalid_api_key', route: '/v1/chat/completions' })
  const lost = await lineOf(edge, () =>
    fetch(`${edge.url}/PLANTED?key=PLANTED`, { headers: { 'x-api-key': 'PLANTED' } }),
  )
  t.match(lost.fields, { status: 404, code: 'not_found', route: null, surface: 'none' })
  const video = await lineOf(edge, () => fetch(`${edge.url}/v1/video/generations/PLANTED?key=PLANTED`))
  t.match(video.fields, { status: 401, route: '/v1/video/generations/:id', surface: 'video' })
  t.notMatch(JSON.stringify(linesOf(edge)), /PLANTED|Hello/, 'nothing that the caller wrote')
})

t.test('a stream that breaks off, a client that leaves', async (t) => {
  const { promise: left, resolve } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, _bill, clientGone) {
    yield streamHead(call)
    yield textBytes('data: {}\n\n')
    if (call.body['user'] !== 'leaves') throw new GatewayError('upstream_stream_interrupted', 'It broke off.')
    await new Promise<void>((gone) => clientGone.addEventListener('abort', () => gone()))
    resolve()
    throw clientGoneError()
  }
  const edge = await startEdge(t, { requestLines: true, serve })
  const broken = await lineOf(edge, () => edge.post({ ...plainAsk, stream: true }))
  t.match(broken.fields, { status: 200, code: 'upstream_stream_interrupted', stream: true })
  const response = await edge.post({ ...plainAsk, stream: true, user: 'leaves' })
  await response.body?.cancel()
  await left
  await until(() => linesOf(edge).length === 2)
  const { fields } = linesOf(edge)[1]!
  t.match(fields, { cut: true, stream: true, bytes: Number })
  t.same([Object(fields).status, Object(fields).code], [undefined, undefined], 'it had no answer as a whole')
})

t.test('a client that leaves before its answer', async (t) => {
  const { promise: called, resolve: onCalled } = Promise.withResolvers<void>()
  const serve: Serve = async function* (_call, _bill, clientGone) {
    onCalled()
    await new Promise<void>((gone) => clientGone.addEventListener('abort', () => gone()))
    yield* []
    throw clientGoneError()
  }
  const edge = await startEdge(t, { requestLines: true, serve })
  const head = (length: number): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  const body = JSON.stringify(plainAsk)
  for (const [what, sent, isServed] of [
    ['in the middle of its body', head(1_000) + body, Promise.resolve()],
    ['while the provider answers', head(body.length) + body, called],
  ] as const) {
    const before = linesOf(edge).length
    const socket = connect(edge.port, '127.0.0.1')
    await new Promise<void>((resolve) => socket.write(sent, () => resolve()))
    await isServed
    socket.destroy()
    await until(() => linesOf(edge).length > before)
    const { fields } = linesOf(edge)[before]!
    t.match(fields, { cut: true, route: '/v1/chat/completions', workspaceId: 'acme' }, what)
    t.same([Object(fields).status, Object(fields).code], [undefined, undefined], what)
  }
})

t.test('a client that leaves in the middle of a whole answer', async (t) => {
  const serve: Serve = async function* (call, bill) {
    await bill()
    yield jsonHead(call)
    yield { type: 'bytes', bytes: Buffer.alloc(40_000_000, ' ') }
  }
  const edge = await startEdge(t, { requestLines: true, serve })
  const response = await edge.post(plainAsk)
  t.equal(response.status, 200)
  await response.body?.cancel()
  await until(() => linesOf(edge).length === 1)
  const { fields } = linesOf(edge)[0]!
  t.match(fields, { cut: true, chargeUsd: '0.00002' })
  t.equal(Object(fields).status, undefined)
})

t.test('health checks are told at debug, and nothing where no lines are wanted', async (t) => {
  const edge = await startEdge(t, { requestLines: true })
  t.match(await lineOf(edge, () => fetch(`${edge.url}/readyz`)), { level: 'debug', fields: { surface: 'health' } })
  const silent = await startEdge(t)
  t.equal((await silent.post(plainAsk)).status, 200)
  await silent.stop()
  t.same(linesOf(silent), [])
})

t.test('a line that waits for its charge is written when the edge stops', async (t) => {
  const edge = await startEdge(t, { requestLines: true })
  await (await edge.post(plainAsk)).text()
  await edge.stop()
  t.equal(linesOf(edge).length, 1)
})
