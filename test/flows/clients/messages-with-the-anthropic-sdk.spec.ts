import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import t from 'tap'
import { billOf, countLasting, plainCost, startBilling } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { sheetOf, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { namedEvent, startScriptedUpstream } from '../../support/scripted-upstream.ts'

const models = {
  plain: 'claude',
  weather: 'claude;tool_calls=2',
  cached:
    'claude;prompt_tokens=10;cached_tokens=600;cache_write_tokens=100;cache_write_1h_tokens=50;completion_tokens=20',
  searcher: 'claude;searches=2;failed_searches=1;prompt_tokens=1000;completion_tokens=10',
  thinker: 'claude;redacted_thinking',
  slow: 'claude;output_tokens=200;chunk_delay_ms=20',
  mute: 'claude;no_usage',
  silent: 'claude;comment;crlf;split=7',
  down: 'claude;status=503',
  overloaded: 'claude;status=529',
  busy: 'claude;status=429;retry_after=7',
  stranger: 'claude;status=401',
  odd: 'claude;stream_error=8',
  broken: 'claude;break_after=8',
  brief: 'claude;break_after=4',
}
const ours = Object.fromEntries(Object.keys(models).map((name) => [`anthropic/${name}`, sheetOf()]))
const sheets = {
  ...ours,
  'anthropic/thinker': sheetOf({ max_output_tokens: 8_000 }),
  'anthropic/cached': sheetOf({
    per_million_tokens: { input: '5', cached_input: '0.5', cache_write_5m: '6.25', cache_write_1h: '10', output: '25' },
  }),
  'anthropic/searcher': sheetOf({ per_call: { web_search: '0.01' } }),
  'gemini/mute': sheetOf(),
  'gemini/plain': sheetOf(),
}

type Ask = Anthropic.MessageCreateParamsNonStreaming

const ask = (model: string, change: Partial<Ask> = {}): Ask => ({
  model: `anthropic/${model}`,
  max_tokens: 300,
  messages: [{ role: 'user', content: 'Which way is north?' }],
  ...change,
})

const clientOf = ({ gateway, account }: TestGateway): Anthropic =>
  new Anthropic({ apiKey: account.secret, baseURL: gateway.url, maxRetries: 0 })

const both = async (client: Anthropic, request: Ask): Promise<readonly Anthropic.Message[]> => [
  await client.messages.create(request),
  await client.messages.stream(request).finalMessage(),
]

const textOf = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (fault: unknown) => fault,
  )

const tools: Anthropic.Tool[] = ['weather', 'clock'].map((name) => ({
  name,
  input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
}))

const answering = ({ content }: Anthropic.Message): Anthropic.MessageParam => ({
  role: 'user',
  content: content.flatMap((block) =>
    block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'sunny' }] : [],
  ),
})

t.test('the official SDK, over HTTP, on real servers', async (t) => {
  const running = await startTestGateway(t, { models, sheets })
  const { sandbox } = running
  const client = clientOf(running)

  t.test('text, whole and streamed, and what it costs', async (t) => {
    const bills = await startBilling(running)
    for (const message of await both(client, ask('plain'))) {
      t.equal(textOf(message), 'You said: Which way is north?')
      t.match(message, { type: 'message', role: 'assistant', stop_reason: 'end_turn' })
      t.match(message.usage, { input_tokens: 4, output_tokens: 6 })
    }
    for (const { total, lines } of await bills(t)) {
      t.equal(total, plainCost(4, 6))
      t.same(
        lines.map(({ item, quantity }) => [item, quantity]),
        [
          ['input', 4],
          ['output', 6],
        ],
      )
    }
    t.equal((await bills(t)).length, 2)
    t.match(sandbox.calls()[0]?.headers, { 'anthropic-version': /^\d{4}-\d{2}-\d{2}$/, 'x-api-key': '***' })
  })

  t.test('limits, stops and betas reach the provider', async (t) => {
    const limited = await client.messages.create(ask('plain', { max_tokens: 3 }))
    t.equal(limited.stop_reason, 'max_tokens')
    const stopped = await client.messages.create(ask('plain', { stop_sequences: ['way'] }))
    t.match(stopped, { stop_reason: 'stop_sequence', stop_sequence: 'way' })
    await client.beta.messages.create({ ...ask('plain'), betas: ['one-2026-01-01', 'two-2026-01-01'] })
    t.equal(sandbox.calls().at(-1)?.headers['anthropic-beta'], 'one-2026-01-01,two-2026-01-01')
  })

  t.test('tools: parallel calls, and the loop to its end', async (t) => {
    const bills = await startBilling(running)
    for (const message of await both(client, ask('weather', { tools }))) {
      t.equal(message.stop_reason, 'tool_use')
      const calls = message.content.filter((block) => block.type === 'tool_use')
      t.equal(calls.length, 2)
      for (const call of calls) t.match(call, { id: String, input: { place: String } })
      const messages = [...ask('weather').messages, { role: 'assistant' as const, content: message.content }]
      const after = await client.messages.create(ask('weather', { tools, messages: [...messages, answering(message)] }))
      t.equal(after.stop_reason, 'end_turn')
    }
    t.equal((await bills(t)).length, 4)
  })

  t.test('the tool runner, which begins with a thread, goes on without one on every upstream', async (t) => {
    for (const model of ['anthropic/plain', 'openai/plain', 'gemini/plain']) {
      const bills = await startBilling(running)
      const asked: unknown[] = []
      const weather = betaTool({
        name: 'weather',
        description: 'Tells the weather.',
        inputSchema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
        run: (input) => {
          asked.push(input)
          return 'sunny'
        },
      })
      for (const stream of [false, true]) {
        const message = await client.beta.messages.toolRunner({ ...ask('plain'), model, tools: [weather], stream })
        t.match(message, { stop_reason: 'end_turn', content: [{ text: 'You said: Which way is north?' }] }, model)
        t.notOk('citations' in (message.content[0] ?? {}), 'as Anthropic, and older SDKs refuse null')
      }
      t.equal(asked.length, 2)
      t.equal((await bills(t)).length, 4)
    }
  })

  t.test('structured output', async (t) => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    for (const message of await both(
      client,
      ask('plain', { output_config: { format: { type: 'json_schema', schema } } }),
    ))
      t.type(JSON.parse(textOf(message)).city, 'string')
  })

  t.test('images and documents', async (t) => {
    const bills = await startBilling(running)
    const content: Anthropic.ContentBlockParam[] = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'North is up.' } },
      { type: 'text', text: 'What is this?' },
    ]
    for (const message of await both(client, ask('plain', { messages: [{ role: 'user', content }] })))
      t.equal(message.usage.input_tokens, 85 + 3 + 3)
    await bills(t)
  })

  t.test('thinking is shown, signed, taken back, and billed', async (t) => {
    const bills = await startBilling(running)
    const thinking = { type: 'enabled' as const, budget_tokens: 2_048 }
    const request = ask('thinker', { thinking, tools, max_tokens: 4_000 })
    for (const message of await both(client, request)) {
      t.match(message.content[0], { type: 'thinking', signature: /./ })
      t.match(message.content[1], { type: 'redacted_thinking' })
      const messages = [
        ...request.messages,
        { role: 'assistant' as const, content: message.content },
        answering(message),
      ]
      t.equal((await client.messages.create({ ...request, messages })).stop_reason, 'end_turn')
    }
    const billed = await bills(t)
    t.equal(billed[0]?.lines.find(({ item }) => item === 'reasoning')?.quantity, 32)
  })

  t.test('what the cache gave and took, and what was searched, by hand', async (t) => {
    for (const message of await both(client, ask('cached'))) t.equal(message.usage.cache_read_input_tokens, 600)
    await client.messages.create(ask('searcher', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }))
    const events = await running.operator.events()
    const bills = events.flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : [])).slice(-3)
    // 10 at 5, 600 at 0.5, 100 at 6.25, 50 at 10, 20 out at 25, per million.
    t.same(
      bills.map(({ total }) => total),
      ['0.001975', '0.001975', '0.02102'],
    )
    // 1000 at 1, 10 at 2, per million, and two searches at 0.01 that succeeded.
    t.match(bills[2]?.lines.at(-1), { item: 'web_search', quantity: 2, amount: '0.02' })
  })

  t.test('tokens are counted for nothing', async (t) => {
    const before = await countLasting(running.operator)
    const { messages, model } = ask('plain')
    t.same(await client.messages.countTokens({ model, messages, tools }), { input_tokens: 4 })
    t.equal(await countLasting(running.operator), before)
  })

  t.test('a chain', async (t) => {
    const chain = { models: ['anthropic/down', 'anthropic/absent', 'anthropic/plain'] }
    for (const extra of [{ extra_body: chain }, chain]) {
      const { data, response } = await client.messages.create({ ...ask('down'), ...extra }).withResponse()
      t.equal(textOf(data), 'You said: Which way is north?')
      t.equal(response.headers.get('x-gateway-fallback-level'), '2')
      t.equal(response.headers.get('x-gateway-fallback-model'), 'anthropic/plain')
      t.match(await billOf(running, response.headers.get('request-id')), { model: 'anthropic/plain', level: 2 })
    }
  })

  t.test('errors by class', async (t) => {
    const stranger = new Anthropic({ apiKey: 'sk-nobody', baseURL: running.gateway.url, maxRetries: 0 })
    const big = Buffer.alloc(16 * 1024 * 1024).toString('base64')
    const image: Anthropic.ImageBlockParam = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: big },
    }
    type Row = readonly [
      asked: () => Promise<unknown>,
      abstract new (...args: never[]) => Error,
      type: string,
      code: string | null,
    ]
    const create =
      (model: string, change: Partial<Ask> = {}, options: Anthropic.RequestOptions = {}) =>
      () =>
        client.messages.create(ask(model, change), options)
    const said = (...content: Anthropic.ContentBlockParam[]): Partial<Ask> => ({
      messages: [{ role: 'user', content }],
    })
    const { BadRequestError, InternalServerError } = Anthropic
    const rows: readonly Row[] = [
      [
        () => stranger.messages.create(ask('plain')),
        Anthropic.AuthenticationError,
        'authentication_error',
        'invalid_api_key',
      ],
      [create('plain', { max_tokens: 0 }), BadRequestError, 'invalid_request_error', 'invalid_value'],
      [create('absent'), Anthropic.NotFoundError, 'not_found_error', 'model_not_found'],
      [create('busy'), Anthropic.RateLimitError, 'rate_limit_error', 'rate_limit_exceeded'],
      [create('down'), InternalServerError, 'api_error', 'upstream_error'],
      [create('overloaded'), InternalServerError, 'api_error', 'upstream_error'],
      [create('stranger'), InternalServerError, 'api_error', 'upstream_error'],
      [create('plain', said(image)), Anthropic.APIError, 'request_too_large', 'request_too_large'],
      [
        create('plain', said({ type: 'tool_result', tool_use_id: 'toolu_none' })),
        BadRequestError,
        'invalid_request_error',
        null,
      ],
      [
        create('plain', {}, { headers: { 'anthropic-version': 'newest' } }),
        BadRequestError,
        'invalid_request_error',
        null,
      ],
    ]
    for (const [asked, kind, type, code] of rows) {
      const fault = await faultOf(asked())
      t.ok(fault instanceof kind, `${type} ${code}`)
      t.match(fault, { error: { type: 'error', error: { type, code }, request_id: String }, requestID: String })
    }
    const limited = await faultOf(client.messages.create(ask('busy')))
    t.ok(limited instanceof Anthropic.APIError && limited.headers?.get('retry-after') === '7')
  })

  t.test('a stream that fails raises its error, and is billed for what was delivered', async (t) => {
    const failing = { odd: 'overloaded_error', broken: 'api_error', brief: 'api_error' }
    for (const [model, type] of Object.entries(failing)) {
      const stream = client.messages.stream(ask(model))
      const fault = await faultOf(stream.finalMessage())
      t.ok(fault instanceof Anthropic.APIError, model)
      t.match(fault, { error: { type: 'error', error: { type, code: 'upstream_stream_interrupted' } } })
      t.match(await billOf(running, stream.request_id), { outcome: 'interrupted', source: 'estimated' })
    }
  })

  t.test('a stream that breaks after one token: its input as told, its output as counted', async (t) => {
    const stream = client.messages.stream(ask('brief'))
    t.ok((await faultOf(stream.finalMessage())) instanceof Anthropic.APIError)
    t.match(await billOf(running, stream.request_id), {
      source: 'estimated',
      total: plainCost(4, 1),
      usage: { promptTotal: 4, outputTotal: 1 },
    })
  })

  t.test('a client that leaves pays for what it got', async (t) => {
    const stream = client.messages.stream(ask('slow'))
    let words = 0
    stream.on('text', () => {
      words += 1
      if (words === 5) stream.abort()
    })
    t.ok((await faultOf(stream.finalMessage())) instanceof Anthropic.APIUserAbortError)
    const bill = await billOf(running, stream.request_id)
    t.match(bill, { outcome: 'client_gone', source: 'estimated' })
    t.ok(bill.usage.outputTotal >= 4 && bill.usage.outputTotal < 100, `${bill.usage.outputTotal} tokens`)
    await until(() => sandbox.calls().at(-1)?.outcome === 'cancelled')
  })

  t.test('an answer that tells no usage is counted, and told so', async (t) => {
    const { data, response } = await client.messages.create(ask('mute')).withResponse()
    const bill = await billOf(running, response.headers.get('request-id'))
    t.equal(bill.source, 'estimated')
    t.equal(data.usage.output_tokens, bill.usage.outputTotal)
    const told: unknown[] = []
    for await (const event of await client.messages.create({ ...ask('mute'), stream: true }))
      if (event.type === 'message_delta') told.push(event.usage.output_tokens)
    t.same(told, [bill.usage.outputTotal])
  })

  t.test('a stream that we write tells a usage from its start on, also where the upstream tells none', async (t) => {
    for (const model of ['openai/mute', 'gemini/mute']) {
      const stream = client.messages.stream({ ...ask('mute'), model })
      const starts: unknown[] = []
      stream.on('streamEvent', (event) => {
        if (event.type === 'message_start') starts.push({ ...event.message.usage })
      })
      const message = await stream.finalMessage()
      t.equal(textOf(message), 'You said: Which way is north?', model)
      t.match(starts, [{ input_tokens: 0, output_tokens: 0 }])
      const { source, usage } = await billOf(running, stream.request_id)
      t.equal(source, 'estimated')
      t.match(message.usage, { input_tokens: usage.promptTotal, output_tokens: usage.outputTotal })
      t.ok(usage.promptTotal > 0 && usage.outputTotal > 0)
    }
  })

  t.test('a tool whose cost is not known is refused before anybody is asked', async (t) => {
    const asked = sandbox.calls().length
    const unpriced = [
      [{ type: 'code_execution_20250825', name: 'code_execution' }, 'tools[1].type'],
      [{ type: 'web_search_20250305', name: 'web_search' }, 'tools[1].type'],
      [{ type: 'novelty_20270101', name: 'novelty' }, 'tools[1].type'],
    ] as const
    for (const [tool, param] of unpriced) {
      const demanded = { tools: [tools[0]!, tool], tool_choice: { type: 'tool', name: tool.name } }
      const fault = await faultOf(client.messages.create(Object.assign(ask('plain'), demanded)))
      t.ok(fault instanceof Anthropic.BadRequestError && fault.message.includes(param), tool.type)
    }
    t.equal(sandbox.calls().length, asked)
    const free: Anthropic.ToolUnion[] = [
      { type: 'memory_20250818', name: 'memory' },
      { type: 'bash_20250124', name: 'bash' },
      { type: 'web_fetch_20250910', name: 'web_fetch' },
    ]
    t.ok(await client.messages.create(ask('plain', { tools: free })))
  })

  t.test('comments, other line ends and cut events change nothing', async (t) => {
    const bills = await startBilling(running)
    const message = await client.messages.stream(ask('silent')).finalMessage()
    t.equal(textOf(message), 'You said: Which way is north?')
    await bills(t)
  })

  t.test('models in the shape that the SDK reads', async (t) => {
    const ids: string[] = []
    for await (const { id } of client.models.list()) ids.push(id)
    t.ok(ids.includes('anthropic/plain'))
    t.match(await client.models.retrieve('anthropic/plain'), { type: 'model', id: 'anthropic/plain' })
  })
})

t.test('what nobody knows yet goes through as it comes, and the rest is billed', async (t) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
  const events = [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 7, output_tokens: 1 }, novelty: 1 } },
    { type: 'novel_event', what: { ever: [1, 2] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'novel_block', novelty: 'x' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'novel_delta', novelty: 'y' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'novel_reason', stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ].map(namedEvent)
  const baseUrl = await startScriptedUpstream(t, events.join(''))
  const provider = {
    name: 'anthropic',
    dialect: 'anthropic',
    profile: 'openai',
    baseUrl,
    apiKey: 'x',
    models: {},
  } as const
  const running = await startTestGateway(t, { sheets, config: { providers: [provider] } })
  const response = await fetch(`${running.gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': running.account.secret, 'api-version': '2023-06-01', 'content-type': 'application/json' },
    body: JSON.stringify({ ...ask('plain'), stream: true }),
  })
  t.equal(await response.text(), events.join(''))
  t.equal((await billOf(running, response.headers.get('request-id'))).total, plainCost(7, 3))
})
