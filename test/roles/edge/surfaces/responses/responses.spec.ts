import { hash } from 'node:crypto'
import OpenAI from 'openai'
import t from 'tap'
import { GatewayError } from '../../../../../src/errors/gateway-error.ts'
import type { ResponseOwners } from '../../../../../src/roles/edge/surfaces/responses/handler.ts'
import {
  errorOf,
  jsonHead,
  type Serve,
  secret,
  startEdge,
  streamHead,
  textBytes,
  workspaceId,
} from '../../edge-fixture.ts'

const path = '/v1/responses'
const ask = { model: 'openai/plain', input: 'Hello!' }

const ownersOf = (owners: Readonly<Record<string, string>>): ResponseOwners => ({
  find: async (responseId) => {
    const owner = owners[responseId]
    return owner === undefined ? undefined : { workspaceId: owner, provider: 'openai' }
  },
})
const responseOwners = ownersOf({ resp_own: workspaceId, resp_foreign: 'umbrella' })

t.test('a request, its chain, and what goes on', async (t) => {
  const { post, calls } = await startEdge(t)
  const response = await post(
    { ...ask, max_output_tokens: 5, extra_body: { models: ['openai/absent', 'grok/plain'] } },
    {},
    path,
  )
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-gateway-fallback-model'), 'grok/plain')
  t.match(calls[0], { surface: 'responses', stream: false })
  t.same(calls[0]?.body, { ...ask, max_output_tokens: 5 })
})

t.test('what is refused before anybody is asked', async (t) => {
  const { post, calls } = await startEdge(t, { responseOwners })
  const rows: readonly (readonly [what: object, code: string, param: string])[] = [
    [{ input: undefined }, 'missing_required_parameter', 'input'],
    [{ background: true }, 'unsupported_parameter', 'background'],
    [{ conversation: 'conv_1' }, 'unsupported_parameter', 'conversation'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'unsupported_parameter', 'input[0]'],
    [{ previous_response_id: 'resp_unknown' }, 'invalid_value', 'previous_response_id'],
    [{ previous_response_id: 'resp_foreign' }, 'invalid_value', 'previous_response_id'],
    [{ previous_response_id: '../files' }, 'invalid_value', 'previous_response_id'],
    [{ previous_response_id: 'resp_own', model: 'grok/plain' }, 'invalid_value', 'model'],
  ]
  for (const [change, code, param] of rows) {
    const response = await post({ ...ask, ...change }, {}, path)
    const error = await errorOf(response)
    t.match({ status: response.status, ...error }, { status: 400, type: 'invalid_request_error', code, param })
    if (param === 'previous_response_id') t.match(error.message, /^Previous response with id '.+' not found\. /)
  }
  t.equal(calls.length, 0)
})

t.test('a response of the workspace’s own is gone on from, where it is kept', async (t) => {
  const sheets = {
    'openai/plain': {
      currency: 'USD' as const,
      per_million_tokens: { input: '1', output: '2' },
      max_output_tokens: 10,
      context_tokens: 1_000,
    },
  }
  const { post, calls } = await startEdge(t, { responseOwners, sheets })
  const models = ['grok/plain', 'openai/plain']
  t.equal((await post({ ...ask, models, previous_response_id: 'resp_own' }, {}, path)).status, 200)
  t.same(
    calls[0]?.candidates.map(({ model, level }) => [model, level]),
    [['openai/plain', 1]],
  )
  t.equal(calls[0]?.reserved, '0.00102', 'the whole context, and the answer')
})

t.test('an answer is sent again although the response that it continues was deleted meanwhile', async (t) => {
  const owners: Record<string, string> = { resp_own: workspaceId }
  const { post, calls } = await startEdge(t, { responseOwners: ownersOf(owners) })
  const continued = { ...ask, previous_response_id: 'resp_own' }
  const key = { 'idempotency-key': 'order-7' }
  t.equal((await post(continued, key, path)).status, 200)
  delete owners['resp_own']
  const again = await post(continued, key, path)
  t.equal(again.status, 200)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal((await post(continued, { 'idempotency-key': 'order-8' }, path)).status, 400)
  t.equal(calls.length, 1)
})

t.test('what continues a deleted response is not sent to a key that may not use its model', async (t) => {
  const owners: Record<string, string> = { resp_own: workspaceId }
  const { post, log, tail } = await startEdge(t, { responseOwners: ownersOf(owners) })
  const other = 'sk-another-key-of-the-workspace'
  const issued = { keyId: 'key-3', workspaceId, name: 'key-3', sha256: hash('sha256', other), prefix: 'sk-anoth' }
  const limits = { allowedModels: ['grok/plain'] }
  const { sequence } = await log.append([
    { type: 'KeyIssued', data: issued },
    { type: 'LimitsSet', data: { workspaceId, keyId: 'key-3', limits } },
  ])
  await tail.waitForSequence(sequence)
  const continued = { ...ask, previous_response_id: 'resp_own' }
  const key = { 'idempotency-key': 'order-7' }
  t.equal((await post(continued, key, path)).status, 200)
  delete owners['resp_own']
  const crossing = await post(continued, { ...key, authorization: `Bearer ${other}` }, path)
  t.match({ status: crossing.status, ...(await errorOf(crossing)) }, { status: 403, code: 'model_not_allowed' })
})

t.test('a bound on tool calls lowers the reservation only where the provider keeps to it', async (t) => {
  const sheet = {
    currency: 'USD' as const,
    per_million_tokens: { input: '0', output: '0' },
    per_call: { web_search: '0.01' },
    max_output_tokens: 10,
  }
  const { post, calls } = await startEdge(t, { sheets: { 'openai/plain': sheet, 'grok/plain': sheet } })
  const bounded = { ...ask, tools: [{ type: 'web_search' }], max_tool_calls: 2 }
  for (const models of [['openai/plain'], ['grok/plain'], ['openai/plain', 'grok/plain']])
    t.equal((await post({ ...bounded, models }, {}, path)).status, 200)
  t.same(
    calls.map(({ reserved }) => reserved),
    ['0.02', '0.16', '0.16'],
  )
})

t.test('owners that cannot be looked up', async (t) => {
  const unreadable = { find: () => Promise.reject(new GatewayError('read_models_unavailable', 'Not now.')) }
  const { post, url } = await startEdge(t, { responseOwners: unreadable })
  t.equal((await post(ask, {}, path)).status, 200, 'nobody asks for them')
  t.equal((await post({ ...ask, previous_response_id: 'resp_own' }, {}, path)).status, 503)
  const headers = { authorization: `Bearer ${secret}` }
  t.equal((await fetch(`${url}/v1/responses/resp_own`, { headers })).status, 503)
})

t.test('an error within a stream is numbered, and the official SDK raises it', async (t) => {
  const serve: Serve = async function* (call) {
    yield streamHead(call)
    yield textBytes('event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{}}\n\n')
    yield textBytes(
      'event: response.in_progress\ndata: {"type":"response.in_progress","sequence_number":1,"response":{}}\n\n',
    )
    throw new GatewayError('upstream_stream_interrupted', 'Broken off.')
  }
  const { url, post } = await startEdge(t, { serve })
  const text = await (await post({ ...ask, stream: true }, {}, path)).text()
  t.match(text.split('\n\n').at(-3), /^event: error\ndata: \{"type":"error","sequence_number":2,/)
  t.match(text.split('\n\n').at(-2), /^event: response.failed\ndata: \{"type":"response.failed","sequence_number":3,/)
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 0 })
  const stream = await client.responses.create({ ...ask, stream: true })
  const reading = async (): Promise<void> => {
    for await (const event of stream) t.ok('sequence_number' in event)
  }
  await t.rejects(reading(), { code: 'upstream_stream_interrupted', message: 'Broken off.' })
})

t.test('a kept response is told to its owner alone, and never recorded', async (t) => {
  const serve: Serve = async function* (call) {
    yield jsonHead(call)
    yield textBytes('{"id":"resp_own"}')
  }
  const { url, calls, log } = await startEdge(t, { serve, responseOwners })
  const before = log.frames.length
  const headers = { authorization: `Bearer ${secret}` }
  const ask = (method: string, id: string): Promise<Response> => fetch(`${url}${path}/${id}`, { method, headers })
  const told = await ask('GET', 'resp_own?include[]=reasoning.encrypted_content&stream=false&unknown=1')
  t.same(await told.json(), { id: 'resp_own' })
  t.equal((await ask('DELETE', 'resp_own')).status, 200)
  t.match(calls[0], {
    surface: 'responses',
    stream: false,
    candidates: [{ provider: 'openai' }],
    question: {
      type: 'get_response',
      responseId: 'resp_own',
      query: 'include%5B%5D=reasoning.encrypted_content',
    },
  })
  t.match(calls[1]?.question, { type: 'delete_response', responseId: 'resp_own', query: '' })
  const texts = []
  for (const id of ['resp_unknown', 'resp_foreign', 'a%2fb', '__proto__'])
    for (const method of ['GET', 'DELETE']) {
      const response = await ask(method, id)
      const { message, code } = await errorOf(response)
      t.match({ status: response.status, code }, { status: 404, code: 'not_found' }, id)
      texts.push(message)
    }
  t.equal(new Set(texts).size, 1, 'unknown and foreign look the same')
  for (const query of ['stream=true', 'stream=false&stream=1', `${'a&'.repeat(2_000)}stream=true`]) {
    const streamed = await ask('GET', `resp_own?${query}`)
    t.match({ status: streamed.status, ...(await errorOf(streamed)) }, { status: 400, param: 'stream' })
  }
  t.equal((await fetch(`${url}${path}/resp_own`)).status, 401)
  t.equal((await ask('GET', 'resp_own/input_items')).status, 404)
  t.equal(calls.length, 2)
  t.equal(log.frames.length, before)
})
