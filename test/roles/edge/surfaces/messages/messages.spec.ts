import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { type ErrorCode, GatewayError } from '../../../../../src/errors/gateway-error.ts'
import { errorTable } from '../../../../../src/http/error-table.ts'
import { messagesErrorBody } from '../../../../../src/http/errors.ts'
import { DispatchLost } from '../../../../../src/roles/dispatch.ts'
import { type Serve, secret, startEdge, streamHead, type TestEdge, textBytes } from '../../edge-fixture.ts'

const ask = { model: 'openai/plain', max_tokens: 10, messages: [{ role: 'user', content: 'Hello!' }] }
const version = { 'anthropic-version': '2023-06-01' }

const post = (
  { post }: TestEdge,
  body: unknown,
  headers: Readonly<Record<string, string>> = version,
  path = '/v1/messages',
): Promise<Response> => post(body, headers, path)

interface MessagesError {
  readonly type: string
  readonly error: {
    readonly type: string
    readonly message: string
    readonly code: string | null
    readonly param: string | null
  }
  readonly request_id: string
}
const errorOf = async (response: Response): Promise<MessagesError> => (await response.json()) as MessagesError

t.test('a request goes on with the version and the betas, whoever named them', async (t) => {
  const edge = await startEdge(t)
  t.equal((await post(edge, ask, { ...version, 'anthropic-beta': 'a,b', 'x-secret': 's' })).status, 200)
  t.equal((await post(edge, ask, { 'api-version': '2024-01-01' })).status, 200)
  t.equal((await post(edge, ask, { 'api-version': '2024-01-01', ...version })).status, 200)
  t.same(
    edge.calls.map(({ headers }) => headers),
    [
      { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a,b' },
      { 'anthropic-version': '2024-01-01' },
      { 'anthropic-version': '2023-06-01' },
    ],
  )
  t.match(edge.calls[0], { surface: 'messages', body: ask, stream: false, outputCap: null })
})

t.test('either header may hold the key', async (t) => {
  const { url } = await startEdge(t)
  const status = async (headers: Record<string, string>): Promise<number> =>
    (
      await fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers: { ...version, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(ask),
      })
    ).status
  t.equal(await status({ 'x-api-key': secret }), 200)
  t.equal(await status({ authorization: `Bearer ${secret}` }), 200)
  t.equal(await status({ authorization: 'Bearer sk-nobody', 'x-api-key': secret }), 401)
  t.equal(await status({}), 401)
})

t.test('a chain, a router, an alias, and a small wallet', async (t) => {
  const edge = await startEdge(t, { creditUsd: '0.0006' })
  const chain = await post(edge, {
    ...ask,
    extra_body: { models: ['openai/absent', 'openai/other'], route: 'fallback' },
  })
  t.equal(chain.headers.get('x-gateway-fallback-level'), '1')
  t.equal(chain.headers.get('x-gateway-fallback-model'), 'openai/other')
  t.same(Object.keys(edge.calls[0]?.body ?? {}), ['model', 'max_tokens', 'messages'])
  const routed = await post(edge, { ...ask, model: 'gateway/auto' })
  t.equal(routed.headers.get('x-gateway-router'), 'auto')
  const inChain = await post(edge, {
    ...ask,
    extra_body: { models: ['openai/absent', 'gateway/auto'], route: 'fallback' },
  })
  t.equal(inChain.headers.get('x-gateway-fallback-level'), '1')
  t.equal(inChain.headers.get('x-gateway-router'), 'auto')
  t.equal(inChain.headers.get('x-gateway-resolved-model'), inChain.headers.get('x-gateway-fallback-model'))
  t.equal((await post(edge, { ...ask, model: 'plain' })).status, 200)
  const capped = await post(edge, { ...ask, max_tokens: 1_000 })
  t.match(capped.headers.get('x-gateway-output-cap'), /^[1-9][0-9]+$/)
})

type Row = readonly [what: string, body: unknown, code: string | null, param: string | null]

t.test('what is wrong with a body, in the words of the surface', async (t) => {
  const edge = await startEdge(t)
  const rows: readonly Row[] = [
    ['not JSON', '{', 'invalid_json', null],
    ['no model', { ...ask, model: undefined }, 'missing_required_parameter', 'model'],
    ['no limit', { ...ask, max_tokens: undefined }, 'missing_required_parameter', 'max_tokens'],
    ['a limit of 0', { ...ask, max_tokens: 0 }, 'invalid_value', 'max_tokens'],
    ['half a token', { ...ask, max_tokens: 1.5 }, 'invalid_value', 'max_tokens'],
    ['no messages', { ...ask, messages: undefined }, 'missing_required_parameter', 'messages'],
    ['no message', { ...ask, messages: [] }, 'invalid_value', 'messages'],
    ['no role', { ...ask, messages: [{ content: 'x' }] }, 'missing_required_parameter', 'messages[0].role'],
    ['no content', { ...ask, messages: [{ role: 'user' }] }, 'missing_required_parameter', 'messages[0].content'],
    [
      'a block without type',
      { ...ask, messages: [{ role: 'user', content: [{ text: 'x' }] }] },
      'missing_required_parameter',
      'messages[0].content[0].type',
    ],
    ['another route', { ...ask, route: 'cheapest' }, 'invalid_value', 'extra_body.route'],
  ]
  for (const [what, body, code, param] of rows) {
    const response = await post(edge, body)
    const { type, error, request_id } = await errorOf(response)
    t.match({ status: response.status, ...error }, { status: 400, type: 'invalid_request_error', code, param }, what)
    t.equal(type, 'error')
    t.equal(request_id, response.headers.get('x-request-id'))
  }
  t.equal(edge.calls.length, 0)
})

t.test('a thread is refused, whatever the model, with what the official SDKs look for', async (t) => {
  const edge = await startEdge(t)
  const threads = [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }]
  for (const thread of threads)
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const response = await post(edge, { ...ask, thread }, version, path)
      t.match(
        { status: response.status, ...(await errorOf(response)) },
        {
          status: 400,
          type: 'error',
          error: {
            type: 'invalid_request_error',
            code: 'unsupported_parameter',
            param: 'thread',
            details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
          },
        },
      )
    }
  t.equal(edge.calls.length, 0)
  t.equal((await post(edge, { ...ask, thread: null })).status, 200)
})

t.test('the version', async (t) => {
  const edge = await startEdge(t)
  const rows: readonly (readonly [headers: Record<string, string>, param: string])[] = [
    [{}, 'api-version'],
    [{ 'anthropic-version': 'latest' }, 'anthropic-version'],
    [{ 'api-version': '2023-6-1' }, 'api-version'],
    [{ 'api-version': '2023-06-01', 'anthropic-version': 'latest' }, 'anthropic-version'],
  ]
  for (const [headers, param] of rows)
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const response = await post(edge, '{', headers, path)
      t.match(
        { status: response.status, ...(await errorOf(response)) },
        {
          status: 400,
          type: 'error',
          error: { type: 'invalid_request_error', code: null, param },
        },
      )
    }
})

t.test('every other error has the shape too', async (t) => {
  const edge = await startEdge(t, { bounds: { requestBodyBytesMax: 500 } })
  const authorization = 'Bearer sk-nobody'
  const rows: readonly (readonly [Promise<Response>, number, string])[] = [
    [post(edge, ask, { ...version, authorization }), 401, 'authentication_error'],
    [fetch(`${edge.url}/v1/messages`), 405, 'invalid_request_error'],
    [fetch(`${edge.url}/v1/messages/batches`), 404, 'not_found_error'],
    [post(edge, { ...ask, model: 'openai/absent' }), 404, 'not_found_error'],
    [post(edge, { ...ask, system: 'x'.repeat(500) }), 413, 'request_too_large'],
    [post(edge, ask, { ...version, 'content-type': 'text/plain' }), 415, 'invalid_request_error'],
  ]
  for (const [asked, status, type] of rows) {
    const response = await asked
    const body = await errorOf(response)
    t.match({ status: response.status, ...body }, { status, type: 'error', error: { type, message: String } })
    t.equal(body.request_id, response.headers.get('x-gateway-request-id'))
  }
  const slow = await startEdge(t, { requestsPerMinute: 1 })
  await post(slow, ask)
  const limited = await post(slow, ask)
  t.match(limited.headers.get('retry-after'), /^[1-9][0-9]*$/)
  t.match(await errorOf(limited), { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } })
})

const anthropicTypes = new Set([
  ...['invalid_request_error', 'authentication_error', 'billing_error', 'permission_error', 'not_found_error'],
  ...['request_too_large', 'rate_limit_error', 'api_error', 'timeout_error', 'overloaded_error'],
])

t.test('every code has a word that clients of the format know', async (t) => {
  for (const code of Object.keys(errorTable) as ErrorCode[])
    t.ok(anthropicTypes.has(messagesErrorBody(new GatewayError(code, 'x'), 'id').error.type), code)
  t.match(messagesErrorBody(new GatewayError('insufficient_user_quota', 'x'), 'id').error.type, 'billing_error')
  t.match(messagesErrorBody(new GatewayError('fallback_exhausted', 'x'), 'id').error.type, 'api_error')
  const failedResponse = { error: { type: 'overloaded_error' } }
  const interrupted = new GatewayError('upstream_stream_interrupted', 'x', { failedResponse })
  t.match(messagesErrorBody(interrupted, 'id').error.type, 'overloaded_error')
})

const event = (data: { type: string; [member: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const start = event({
  type: 'message_start',
  message: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null },
    usage: { input_tokens: 1, output_tokens: 1 },
  },
})

t.test('an error within a stream, for the official SDK; its silence is filled with pings', async (t) => {
  const serve: Serve = async function* (call) {
    yield streamHead(call)
    yield textBytes(start)
    await new Promise((resolve) => setTimeout(resolve, 100))
    throw new GatewayError('upstream_stream_interrupted', 'Broken off.')
  }
  const edge = await startEdge(t, { serve, bounds: { keepAliveCommentMs: 20 } })
  const text = await (await post(edge, { ...ask, stream: true })).text()
  t.match(text, /\n\nevent: ping\ndata: \{"type": "ping"\}\n\n/)
  t.notMatch(text, /^:/m, 'no comments here')
  t.match(text, /\n\nevent: error\ndata: \{"type":"error".*"request_id":"[^"]+"\}\n\n$/)

  const client = new Anthropic({ apiKey: secret, baseURL: edge.url, maxRetries: 0 })
  const stream = await client.messages.create({ ...ask, messages: [{ role: 'user', content: 'x' }], stream: true })
  const reading = async (): Promise<string[]> => {
    const types: string[] = []
    for await (const { type } of stream) types.push(type)
    return types
  }
  const raised = await reading().catch((fault: unknown) => fault)
  t.ok(raised instanceof Anthropic.APIError)
  t.match(raised, { error: { type: 'error', error: { type: 'api_error', code: 'upstream_stream_interrupted' } } })
})

t.test('tokens are counted for nothing', async (t) => {
  const serve: Serve = async function* (call) {
    yield { type: 'head', contentType: 'application/json', level: 0, model: call.candidates[0]!.model }
    yield textBytes('{"input_tokens":7}')
  }
  const edge = await startEdge(t, { serve, creditUsd: '0' })
  const before = edge.log.frames.length
  const client = new Anthropic({ apiKey: secret, baseURL: edge.url, maxRetries: 0 })
  const counted = await client.messages.countTokens({
    model: 'openai/plain',
    system: 'Be brief.',
    messages: [{ role: 'user', content: 'x' }],
  })
  t.same(counted, { input_tokens: 7 })
  const chain = { ...ask, stream: true, models: ['openai/other', 'openai/plain'] }
  t.equal((await post(edge, chain, version, '/v1/messages/count_tokens')).status, 200)
  const [call, ofChain] = edge.calls
  t.match(call, {
    surface: 'messages',
    question: { type: 'count_tokens' },
    stream: false,
    allowanceId: null,
    reserved: '0',
  })
  t.same(Object.keys(call?.body ?? {}).sort(), ['messages', 'model', 'system'])
  t.match(call?.headers, { 'anthropic-version': /^\d{4}-\d{2}-\d{2}$/ })
  t.same(
    ofChain?.candidates.map(({ model }) => model),
    ['openai/other'],
  )
  t.equal(ofChain?.bodyBytes, JSON.stringify(chain).length, 'which decide how long its steps are')
  t.equal(edge.log.frames.length, before, 'nothing is recorded')
  const wrong = await post(edge, { model: 'openai/plain' }, version, '/v1/messages/count_tokens')
  t.match(await errorOf(wrong), { error: { code: 'missing_required_parameter', param: 'messages' } })
})

t.test('a question that is lost is only an error', async (t) => {
  const serve: Serve = () => {
    throw new DispatchLost('no_available_channel', 'No proxy took it.')
  }
  const edge = await startEdge(t, { serve })
  const before = edge.log.frames.length
  const response = await post(edge, ask, version, '/v1/messages/count_tokens')
  t.match({ status: response.status, ...(await errorOf(response)) }, { status: 503, error: { type: 'api_error' } })
  t.equal(edge.log.frames.length, before)
})
