import { hash } from 'node:crypto'
import { connect } from 'node:net'
import t from 'tap'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { errorOf, plainAsk, revokedSecret, secret, startEdge } from '../edge-fixture.ts'

const authorization = `Bearer ${secret}`
const asked = (change: object): object => ({ ...plainAsk, ...change })
const part = (content: object): object => asked({ messages: [{ role: 'user', content: [content] }] })
const message = (first: object): object => asked({ messages: [first] })

type Row = readonly [what: string, body: unknown, code: string, param: string | null]

const badRequests: readonly Row[] = [
  ['not JSON', '{"model":', 'invalid_json', null],
  ['nothing', '', 'invalid_json', null],
  ['not UTF-8', Uint8Array.from([0x22, 0xff, 0x22]), 'invalid_json', null],
  ['a name twice', '{"model":"openai/plain","model":"openai/other","messages":[]}', 'invalid_json', null],
  ['a nest a million deep', '['.repeat(1_000_000), 'invalid_json', null],
  ['a nest 200 deep', `{"x":${'['.repeat(200)}${']'.repeat(200)}}`, 'invalid_json', null],
  ['an array', [], 'invalid_value', null],
  ['a number', '1', 'invalid_value', null],
  ['no model', { messages: plainAsk.messages }, 'missing_required_parameter', 'model'],
  ['no messages', { model: 'openai/plain' }, 'missing_required_parameter', 'messages'],
  ['no message', asked({ messages: [] }), 'invalid_value', 'messages'],
  ['a model that is a number', asked({ model: 7 }), 'invalid_value', 'model'],
  ['a model name without end', asked({ model: 'x'.repeat(300) }), 'invalid_value', 'model'],
  ['messages that are text', asked({ messages: 'hello' }), 'invalid_value', 'messages'],
  ['a message that is text', asked({ messages: ['hello'] }), 'invalid_value', 'messages[0]'],
  ['a message without role', message({ content: 'x' }), 'missing_required_parameter', 'messages[0].role'],
  ['an unknown role', message({ role: 'robot', content: 'x' }), 'invalid_value', 'messages[0].role'],
  ['a user without content', message({ role: 'user' }), 'missing_required_parameter', 'messages[0].content'],
  ['content that is a number', message({ role: 'user', content: 1 }), 'invalid_value', 'messages[0].content'],
  ['content null of a user', message({ role: 'user', content: null }), 'invalid_value', 'messages[0].content'],
  [
    'content null of an assistant',
    message({ role: 'assistant', content: null }),
    'invalid_value',
    'messages[0].content',
  ],
  [
    'a tool message without its call',
    message({ role: 'tool', content: 'x' }),
    'missing_required_parameter',
    'messages[0].tool_call_id',
  ],
  ['an unknown part', part({ type: 'video' }), 'invalid_value', 'messages[0].content[0].type'],
  ['a part without type', part({ text: 'x' }), 'missing_required_parameter', 'messages[0].content[0].type'],
  ['a text part without text', part({ type: 'text' }), 'missing_required_parameter', 'messages[0].content[0].text'],
  [
    'an image without url',
    part({ type: 'image_url', image_url: {} }),
    'missing_required_parameter',
    'messages[0].content[0].image_url.url',
  ],
  [
    'an image of odd detail',
    part({ type: 'image_url', image_url: { url: 'https://x', detail: 'odd' } }),
    'invalid_value',
    'messages[0].content[0].image_url.detail',
  ],
  [
    'audio of an odd format',
    part({ type: 'input_audio', input_audio: { data: 'x', format: 'ogg' } }),
    'invalid_value',
    'messages[0].content[0].input_audio.format',
  ],
  [
    'a call without arguments',
    message({ role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f' } }] }),
    'missing_required_parameter',
    'messages[0].tool_calls[0].function.arguments',
  ],
  ['a stream that is text', asked({ stream: 'yes' }), 'invalid_value', 'stream'],
  ['stream options that are true', asked({ stream_options: true }), 'invalid_value', 'stream_options'],
  ['max_tokens below zero', asked({ max_tokens: -1 }), 'invalid_value', 'max_tokens'],
  ['max_tokens of 0', asked({ max_tokens: 0 }), 'invalid_value', 'max_tokens'],
  ['half a token', asked({ max_completion_tokens: 1.5 }), 'invalid_value', 'max_completion_tokens'],
  ['temperature too high', asked({ temperature: 2.1 }), 'invalid_value', 'temperature'],
  ['temperature as text', asked({ temperature: '1' }), 'invalid_value', 'temperature'],
  ['top_p too high', asked({ top_p: 1.1 }), 'invalid_value', 'top_p'],
  ['no answers', asked({ n: 0 }), 'invalid_value', 'n'],
  ['too many answers', asked({ n: 129 }), 'invalid_value', 'n'],
  ['five stops', asked({ stop: ['1', '2', '3', '4', '5'] }), 'invalid_value', 'stop'],
  [
    'a tool without function',
    asked({ tools: [{ type: 'function' }] }),
    'missing_required_parameter',
    'tools[0].function',
  ],
  [
    'a tool without name',
    asked({ tools: [{ type: 'function', function: {} }] }),
    'missing_required_parameter',
    'tools[0].function.name',
  ],
  ['an unknown tool', asked({ tools: [{ type: 'hammer' }] }), 'invalid_value', 'tools[0].type'],
  ['an unknown tool choice', asked({ tool_choice: 'maybe' }), 'invalid_value', 'tool_choice'],
  [
    'a tool choice without name',
    asked({ tool_choice: { type: 'function', function: {} } }),
    'missing_required_parameter',
    'tool_choice.function.name',
  ],
  ['a tool choice without type', asked({ tool_choice: {} }), 'missing_required_parameter', 'tool_choice.type'],
  ['an unknown format', asked({ response_format: { type: 'xml' } }), 'invalid_value', 'response_format.type'],
  [
    'a schema without schema',
    asked({ response_format: { type: 'json_schema' } }),
    'missing_required_parameter',
    'response_format.json_schema',
  ],
  [
    'a schema without name',
    asked({ response_format: { type: 'json_schema', json_schema: {} } }),
    'missing_required_parameter',
    'response_format.json_schema.name',
  ],
  [
    'a schema of a bad name',
    asked({ response_format: { type: 'json_schema', json_schema: { name: 'a b' } } }),
    'invalid_value',
    'response_format.json_schema.name',
  ],
  [
    'a schema that is text',
    asked({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: 'x' } } }),
    'invalid_value',
    'response_format.json_schema.schema',
  ],
  [
    'an odd search size',
    asked({ web_search_options: { search_context_size: 'all' } }),
    'invalid_value',
    'web_search_options.search_context_size',
  ],
  [
    'a chain of six',
    asked({ extra_body: { models: ['1', '2', '3', '4', '5', '6'] } }),
    'invalid_value',
    'extra_body.models',
  ],
  [
    'a chain of six at the top',
    asked({ models: ['1', '2', '3', '4', '5', '6'] }),
    'invalid_value',
    'extra_body.models',
  ],
  ['an empty chain', asked({ extra_body: { models: [] } }), 'invalid_value', 'extra_body.models'],
  ['an empty chain at the top', asked({ models: [] }), 'invalid_value', 'extra_body.models'],
  ['a chain of numbers', asked({ extra_body: { models: [1] } }), 'invalid_value', 'extra_body.models[0]'],
  ['an unknown route', asked({ extra_body: { route: 'cheapest' } }), 'invalid_value', 'extra_body.route'],
  ['an unknown route at the top', asked({ route: 'cheapest' }), 'invalid_value', 'extra_body.route'],
  [
    'a chain of unknown models',
    asked({ extra_body: { models: ['openai/x', 'openai/y'] } }),
    'invalid_value',
    'extra_body.models',
  ],
]

t.test('what is wrong with a body, and where', async (t) => {
  const { post, calls, log, logged } = await startEdge(t)
  const framesBefore = log.frames.length
  for (const [what, body, code, param] of badRequests) {
    const response = await post(body)
    const error = await errorOf(response)
    t.match({ status: response.status, ...error }, { status: 400, type: 'invalid_request_error', code, param }, what)
    t.notMatch(error.message, /oneOf|anyOf|"then"/, `${what}: in words for people`)
    t.equal(response.headers.get('x-request-id'), response.headers.get('x-gateway-request-id'))
    t.ok(response.headers.get('x-request-id'))
  }
  t.equal(calls.length, 0, 'nothing was dispatched')
  t.equal(log.frames.length, framesBefore, 'nothing was recorded')
  t.same(logged, [], 'a caller in error is no fault of ours')
})

t.test('what is right with a body', async (t) => {
  const { post, calls } = await startEdge(t)
  const bodies = [
    asked({ temperature: 0, top_p: 1, n: 1, stop: 'x', seed: 7, user: 'u', metadata: { a: 'b' } }),
    asked({ temperature: null, max_tokens: null, stop: null, stream: false, stream_options: null }),
    asked({ unknown: { anything: [1] }, reasoning_effort: 'minimal', verbosity: 'low' }),
    asked({
      tool_choice: { type: 'allowed_tools', allowed_tools: {} },
      tools: [{ type: 'function', function: { name: 'f', strict: null } }],
    }),
    asked({ response_format: { type: 'json_schema', json_schema: { name: 'a-b_1', schema: {}, strict: true } } }),
    asked({
      messages: [
        { role: 'developer', content: 'x' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'y' },
        { role: 'function', name: 'f', content: null },
      ],
    }),
    part({ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } }),
    part({ type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'low' }, cache_control: {} }),
    asked({ route: 'fallback' }),
    `{"model":"openai/plain","messages":[{"role":"user","content":"x"}],"__proto__":{"admin":true},"constructor":{"prototype":1}}`,
  ]
  for (const body of bodies) t.equal((await post(body)).status, 200, JSON.stringify(body).slice(0, 120))
  t.equal(calls.length, bodies.length)
  t.equal(Object.getOwnPropertyDescriptor(Object.prototype, 'admin'), undefined)
  t.notOk('route' in calls.at(-2)!.body, 'a route alone asks for nothing and goes nowhere')
})

t.test('who calls', async (t) => {
  const { url, post } = await startEdge(t)
  const rows: readonly (readonly [what: string, headers: Record<string, string>, code: string])[] = [
    ['no key', {}, 'missing_api_key'],
    ['an empty header', { authorization: '' }, 'missing_api_key'],
    ['another scheme', { authorization: 'Basic abc' }, 'invalid_api_key'],
    ['no token', { authorization: 'Bearer ' }, 'invalid_api_key'],
    ['not sk-', { authorization: 'Bearer pk-123' }, 'invalid_api_key'],
    ['two tokens', { authorization: `Bearer ${secret} x` }, 'invalid_api_key'],
    ['an unknown key', { authorization: 'Bearer sk-nobody' }, 'invalid_api_key'],
    ['a revoked key', { authorization: `Bearer ${revokedSecret}` }, 'invalid_api_key'],
    ['an unknown x-api-key', { 'x-api-key': 'sk-nobody' }, 'invalid_api_key'],
    [
      'a bad bearer beside a good x-api-key',
      { authorization: 'Bearer sk-nobody', 'x-api-key': secret },
      'invalid_api_key',
    ],
  ]
  for (const [what, headers, code] of rows) {
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: '{' })
    const text = await response.text()
    t.match(
      { status: response.status, ...JSON.parse(text).error },
      { status: 401, type: 'authentication_error', code },
      what,
    )
    t.notMatch(text, /sk-(nobody|test)/, 'the key is not told back')
    t.ok(response.headers.get('x-gateway-request-id'))
  }
  const { headers } = { headers: { 'x-api-key': secret, 'content-type': 'application/json' } }
  const accepted = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(plainAsk),
  })
  t.equal(accepted.status, 200)
  t.equal((await post(plainAsk, { authorization: `bearer  ${secret}` })).status, 200)
})

t.test('a key that is revoked meanwhile', async (t) => {
  const { post, log, tail } = await startEdge(t)
  t.equal((await post(plainAsk)).status, 200)
  const { sequence } = await log.append([{ type: 'KeyRevoked', data: { keyId: 'key-1', workspaceId: 'acme' } }])
  await tail.waitForSequence(sequence)
  t.equal((await post(plainAsk)).status, 401)
})

t.test('where and how it was sent', async (t) => {
  const { url, post } = await startEdge(t)
  const status = async (method: string, path: string): Promise<unknown> => {
    const response = await fetch(url + path, { method, headers: { authorization } })
    const { code, type } = await errorOf(response)
    return { status: response.status, code, type, allow: response.headers.get('allow') }
  }
  const type = 'invalid_request_error'
  t.same(await status('GET', '/v1/chat/completions'), { status: 405, code: 'method_not_allowed', type, allow: 'POST' })
  t.same(await status('DELETE', '/v1/models'), { status: 405, code: 'method_not_allowed', type, allow: 'HEAD, GET' })
  t.same(await status('POST', '/v1/nothing'), { status: 404, code: 'not_found', type, allow: null })
  t.same(await status('GET', '/nothing'), { status: 404, code: 'not_found', type, allow: null })
  t.same(await status('GET', '/v1/%ff'), { status: 404, code: 'not_found', type, allow: null })

  const unsupported = { status: 415, type, code: 'unsupported_media_type' }
  for (const contentType of [
    'text/plain',
    'multipart/form-data',
    'application/jsonp',
    'application/json; charset=utf-16',
  ]) {
    const response = await post(plainAsk, { 'content-type': contentType })
    t.match({ status: response.status, ...(await errorOf(response)) }, unsupported, contentType)
  }
  for (const contentType of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/vnd.api+json',
    'application/json;charset="UTF-8"',
  ])
    t.equal((await post(plainAsk, { 'content-type': contentType })).status, 200, contentType)
  const compressed = await post(plainAsk, { 'content-encoding': 'gzip' })
  t.match({ status: compressed.status, ...(await errorOf(compressed)) }, unsupported)
  const unnamed = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization },
    body: Buffer.from('{}'),
  })
  t.equal(unnamed.status, 415)
})

t.test('a model that is not there', async (t) => {
  const { post } = await startEdge(t)
  for (const model of [
    'openai/absent',
    'nobody/plain',
    'absent',
    'gateway/absent',
    'openai/',
    '/',
    '__proto__',
    'gateway/__proto__',
  ]) {
    const response = await post(asked({ model }))
    t.match(
      { status: response.status, ...(await errorOf(response)) },
      { status: 404, code: 'model_not_found', param: 'model' },
      model,
    )
  }
})

t.test('a body over the limit', async (t) => {
  const { url, post, port } = await startEdge(t, { bounds: { requestBodyBytesMax: 1_000 } })
  const tooLarge = { status: 413, type: 'invalid_request_error', code: 'request_too_large' }
  const announced = await post(asked({ user: 'x'.repeat(1_000) }))
  t.match({ status: announced.status, ...(await errorOf(announced)) }, tooLarge)

  const unannounced = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: new ReadableStream({
      start: (controller) => {
        for (let sent = 0; sent < 200; sent += 1) controller.enqueue(Buffer.alloc(100, ' '))
        controller.close()
      },
    }),
    duplex: 'half',
  })
  t.match({ status: unannounced.status, ...(await errorOf(unannounced)) }, tooLarge)

  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 20000000\r\n\r\n`,
  )
  const [head] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve))).toString().split('\r\n')
  t.equal(head, 'HTTP/1.1 413 Payload Too Large', 'answered before the body came')
  t.equal((await post(plainAsk)).status, 200)
})

t.test('a body of more members and elements than the limit, wherever a body is read', async (t) => {
  const admins = [{ name: 'ops', sha256: hash('sha256', 'admin-token'), role: 'owner' as const }]
  const { post, calls, queued } = await startEdge(t, { admins })
  const rows: readonly (readonly [path: string, headers?: Record<string, string>])[] = [
    ['/v1/chat/completions'],
    ['/v1/messages', { 'anthropic-version': '2023-06-01' }],
    ['/v1/messages/count_tokens', { 'anthropic-version': '2023-06-01' }],
    ['/v1/responses'],
    ['/v1/video/generations'],
    ['/v1/videos'],
    ['/vv/v1/videos/text2video'],
    ['/admin/v1/workspaces', { authorization: 'Bearer admin-token' }],
  ]
  const ones = Array.from({ length: sharedLimits.jsonMembersMax + 1 }, () => 1)
  const names = Object.fromEntries(ones.map((one, place) => [`k${place}`, one]))
  const differentNames = new RegExp(`more than ${sharedLimits.jsonDifferentNamesMax} different names`)
  for (const [path, headers] of rows)
    for (const [many, cause] of [
      [ones, /more than 100000 members and elements\. Send less in one request/],
      [names, differentNames],
    ] as const) {
      const refused = await post({ model: 'openai/plain', many }, headers, path)
      const text = await refused.text()
      t.equal(refused.status, 413, path)
      t.match(text, cause, path)
      t.match(text, /request_too_large|"code":1200/, path)
    }
  const metadata = JSON.stringify({ names })
  t.match(await errorOf(await post({ model: 'vv/v3', prompt: 'A cat.', metadata }, {}, '/v1/video/generations')), {
    code: 'request_too_large',
  })
  t.equal(calls.length + queued.size, 0)

  const most = ones.slice(0, -7)
  t.equal((await post({ ...plainAsk, most })).status, 200, 'as many as there may be, with those around them')
  t.equal((await post({ ...plainAsk, most: [...most, 1] })).status, 413)
})

t.test('the rate', async (t) => {
  const { post } = await startEdge(t, { requestsPerMinute: 2 })
  t.equal((await post('{')).status, 400)
  const limited = await post(plainAsk)
  t.match(
    { status: limited.status, ...(await errorOf(limited)) },
    { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  )
  t.match(limited.headers.get('retry-after'), /^(2[0-9]|30)$/)
})

t.test('an empty wallet', async (t) => {
  const { post, calls } = await startEdge(t, { creditUsd: '0.000001' })
  const response = await post(plainAsk)
  t.match(
    { status: response.status, ...(await errorOf(response)) },
    { status: 402, type: 'insufficient_quota', code: 'insufficient_user_quota' },
  )
  t.equal(calls.length, 0)
})

t.test('a fault of ours is told without its detail, and logged once', async (t) => {
  const { post, logged } = await startEdge(t, {
    serve: () => {
      throw new Error('the secret detail')
    },
  })
  const response = await post(plainAsk)
  const text = await response.text()
  t.match(
    { status: response.status, ...JSON.parse(text).error },
    { status: 500, type: 'api_error', code: 'internal_error' },
  )
  t.notMatch(text, /secret detail/)
  t.equal(logged.length, 1)
  t.match(logged[0], {
    level: 'error',
    fields: { requestId: response.headers.get('x-request-id'), fault: { message: 'the secret detail' } },
  })
})
