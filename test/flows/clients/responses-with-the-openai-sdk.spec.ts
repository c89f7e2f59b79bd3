import OpenAI from 'openai'
import type {
  FunctionTool,
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses'
import t, { type Test } from 'tap'
import { sandboxOrganisation } from '../../../sandbox/server.ts'
import { problemsOfResponse, problemsOfResponsesEvent } from '../../reference/responses-contract.ts'
import { billOf, checkReservations, plainCost, startBilling } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { configOf, sheetOf, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { namedEvent, startScriptedUpstream } from '../../support/scripted-upstream.ts'

const models = {
  weather: 'weather;tool_calls=2',
  searcher:
    'searcher;searches=2;pages_opened=1;failed_searches=1;code_calls=3;containers=2;prompt_tokens=100;completion_tokens=10',
  xai: 'xai;profile=xai;searches=2;x_searches=1',
  cached: 'cached;prompt_tokens=1000;cached_tokens=600;cache_write_tokens=100;completion_tokens=10',
  slow: 'slow;output_tokens=200;chunk_delay_ms=20',
  mute: 'mute;no_usage',
  cut: 'cut;comment;crlf;split=7;done',
  down: 'down;status=503',
  busy: 'busy;status=429;retry_after=7',
  odd: 'odd;stream_error=9',
  failed: 'failed;failed',
  torn: 'torn;stream_error=4',
  limited:
    'limited;stream_error=9;failed;error_code=rate_limit_exceeded;error_message=Rate limit reached. Please try again in 11.054s;leak=Details',
  maker: 'maker;tool_calls=1',
}
const perCall = {
  web_search: '0.01',
  code_interpreter: '0.03',
  x_search: '0.005',
  'image_generation_gpt-image-1_low_1024x1024': '0.011',
  'image_generation_gpt-image-1_input_text_tokens': '0.000005',
  'image_generation_gpt-image-1_cached_input_text_tokens': '0.00000125',
  'image_generation_gpt-image-1_input_image_tokens': '0.00001',
  'image_generation_gpt-image-1_cached_input_image_tokens': '0.0000025',
}
const sheets = {
  'openai/searcher': sheetOf({ per_call: perCall }),
  'openai/plain': sheetOf({ per_call: perCall }),
  'openai/torn': sheetOf({ per_call: perCall }),
  'openai/maker': sheetOf({ per_call: perCall }),
  'grok/xai': sheetOf({ per_call: perCall }),
  'openai/cached': sheetOf({
    per_million_tokens: { input: '2', cached_input: '0.2', cache_write_5m: '2.5', output: '8' },
  }),
  'grok/plain': sheetOf(),
  'anthropic/plain': sheetOf(),
  'gemini/plain': sheetOf(),
  'google/plain': sheetOf(),
}
/** `auto` is like the default router: of its three models, this surface lacks the second, one of Google's. */
const routers = {
  auto: { candidates: ['openai/down', 'gemini/plain', 'grok/plain'] },
  google: { candidates: ['gemini/plain', 'openai/plain'] },
  failing: { candidates: ['anthropic/plain', 'openai/down', 'gemini/plain'] },
  absent: { candidates: ['anthropic/plain', 'gemini/plain'] },
}

type Ask = Omit<ResponseCreateParamsNonStreaming, 'stream'>

const ask = (model: string, change: Partial<Ask> = {}): Ask => ({
  model: `openai/${model}`,
  input: 'Which way is north?',
  ...change,
})

const clientOf = ({ gateway, account }: TestGateway, apiKey = account.secret): OpenAI =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })

const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (fault: unknown) => fault,
  )

/** What the contract says of a value that an SDK has read. */
const plainJson = (value: unknown): { readonly [key: string]: unknown } => JSON.parse(JSON.stringify(value))

/** OpenResponses leaves out the schema that an answer was asked for with. */
const notOfFormat = (problems: readonly string[]): readonly string[] =>
  problems.filter((problem) => !/^(?:\/response)?\/text\/format\b/.test(problem))

const streamed = async (t: Test, client: OpenAI, request: Ask): Promise<Response> => {
  const events: ResponseStreamEvent[] = []
  for await (const event of await client.responses.create({ ...request, stream: true })) events.push(event)
  for (const event of events) t.same(notOfFormat(problemsOfResponsesEvent(plainJson(event))), [], event.type)
  t.same(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  )
  const last = events.at(-1)
  if (last === undefined || !('response' in last)) throw new Error('a stream ends with its response')
  return last.response
}

/** The same request whole and as a stream, each held against the contract. */
const both = async (t: Test, client: OpenAI, request: Ask): Promise<readonly Response[]> => {
  const whole = await client.responses.create(request)
  const { output_text: _ofTheSdk, ...told } = plainJson(whole)
  t.same(notOfFormat(problemsOfResponse(told)), [])
  return [whole, await streamed(t, client, request)]
}

const textOf = ({ output }: Response): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('')

const tools: FunctionTool[] = ['weather', 'clock'].map((name) => ({
  type: 'function',
  name,
  parameters: {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
    additionalProperties: false,
  },
  strict: true,
}))

const imageTool = {
  type: 'image_generation' as const,
  model: 'gpt-image-1',
  quality: 'low' as const,
  size: '1024x1024' as const,
}

const resultsOf = ({ output }: Response): ResponseInputItem[] =>
  output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' }]
      : [],
  )

t.test('the official SDK, over HTTP, on real servers', async (t) => {
  const catalog = { ...configOf('', '', { models }).catalog, routers }
  const running = await startTestGateway(t, { models, sheets, config: { catalog } })
  const { sandbox, operator } = running
  const client = clientOf(running)

  t.test('text, whole and streamed, and what it costs', async (t) => {
    const bills = await startBilling(running)
    for (const response of await both(t, client, ask('plain'))) {
      t.equal(textOf(response), 'You said: Which way is north?')
      t.match(response, { object: 'response', status: 'completed', usage: { input_tokens: 4, output_tokens: 6 } })
    }
    for (const { total, surface } of await bills(t))
      t.same({ total, surface }, { total: plainCost(4, 6), surface: 'responses' })
    t.equal((await bills(t)).length, 2)
  })

  t.test('tools: parallel calls, and the loop to its end', async (t) => {
    const bills = await startBilling(running)
    for (const response of await both(t, client, ask('weather', { tools, parallel_tool_calls: true }))) {
      t.equal(resultsOf(response).length, 2)
      const input = [
        { role: 'user' as const, content: 'Which way is north?' },
        ...response.output,
        ...resultsOf(response),
      ]
      const after = await client.responses.create(ask('weather', { tools, input: input as ResponseInputItem[] }))
      t.equal(textOf(after), 'You said: Which way is north?')
    }
    t.equal((await bills(t)).length, 4)
  })

  t.test('structured output', async (t) => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    const text = { format: { type: 'json_schema' as const, name: 'place', schema, strict: true } }
    for (const response of await both(t, client, ask('plain', { text })))
      t.type(JSON.parse(textOf(response)).city, 'string')
  })

  t.test('images', async (t) => {
    const bills = await startBilling(running)
    const image = {
      type: 'input_image' as const,
      image_url: 'data:image/png;base64,iVBORw0KGgo=',
      detail: 'auto' as const,
    }
    const input = [{ role: 'user' as const, content: [{ type: 'input_text' as const, text: 'What is this?' }, image] }]
    for (const response of await both(t, client, ask('plain', { input }))) t.equal(response.usage?.input_tokens, 3 + 85)
    await bills(t)
  })

  t.test('reasoning is billed as a line of its own', async (t) => {
    const bills = await startBilling(running)
    const request = ask('plain', {
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    })
    for (const response of await both(t, client, request)) t.equal(response.output[0]?.type, 'reasoning')
    for (const { lines } of await bills(t)) t.equal(lines.find(({ item }) => item === 'reasoning')?.quantity, 16)
  })

  t.test('built-in tools are billed call by call', async (t) => {
    const bills = await startBilling(running)
    const builtIn: Ask['tools'] = [{ type: 'web_search' }, { type: 'code_interpreter', container: { type: 'auto' } }]
    await both(t, client, ask('searcher', { tools: builtIn }))
    await both(t, client, ask('plain', { tools: [imageTool] }))
    const billed = await bills(t)
    for (const { lines, total } of billed.slice(0, 2)) {
      t.match(
        lines.find(({ item }) => item === 'web_search'),
        { quantity: 2, amount: '0.02' },
      )
      t.match(
        lines.find(({ item }) => item === 'code_interpreter'),
        { quantity: 2, amount: '0.06' },
      )
      // 100 in at 1, 10 out at 2, per million, two searches, two containers.
      t.equal(total, '0.08012')
    }
    for (const { lines } of billed.slice(2))
      t.match(
        lines.filter(({ item }) => item.startsWith('image_generation')),
        [
          { item: /low_1024x1024$/, quantity: 1, amount: '0.011' },
          { item: /_input_text_tokens$/, quantity: 4, amount: '0.00002' },
        ],
      )
  })

  t.test('an image is billed for what it was made from', async (t) => {
    const bills = await startBilling(running)
    const source = {
      type: 'input_image' as const,
      image_url: 'data:image/png;base64,iVBORw0KGgo=',
      detail: 'auto' as const,
    }
    const text = { type: 'input_text' as const, text: 'Paint it' }
    const tool = { ...imageTool, action: 'edit' as const, input_fidelity: 'high' as const }
    await both(t, client, ask('plain', { tools: [tool], input: [{ role: 'user', content: [text, source] }] }))
    for (const { lines } of await bills(t))
      t.match(
        lines.filter(({ item }) => item.startsWith('image_generation')),
        [
          { item: /low_1024x1024$/, amount: '0.011' },
          { item: /_input_text_tokens$/, quantity: 2, amount: '0.00001' },
          { item: /_input_image_tokens$/, quantity: 85, amount: '0.00085' },
        ],
      )
    await checkReservations(t, running)
  })

  t.test('a container of a stream that breaks off is billed', async (t) => {
    const container: Ask['tools'] = [{ type: 'code_interpreter', container: { type: 'auto' } }]
    const request = { ...ask('torn', { tools: container }), stream: true as const }
    const { data: stream, request_id } = await client.responses.create(request).withResponse()
    const types: string[] = []
    const reading = async (): Promise<void> => {
      for await (const { type } of stream) types.push(type)
    }
    await t.rejects(reading(), { code: 'upstream_stream_interrupted' })
    t.equal(types.at(-1), 'response.code_interpreter_call.in_progress')
    const bill = await billOf(running, request_id)
    t.match(bill, { outcome: 'interrupted', source: 'estimated' })
    t.match(
      bill.lines.find(({ item }) => item === 'code_interpreter'),
      { quantity: 1, amount: '0.03' },
    )
  })

  t.test('an answer of one’s own is sent back, without the ids by which the provider keeps it', async (t) => {
    const all: Ask['tools'] = [
      { type: 'web_search' },
      { type: 'code_interpreter', container: { type: 'auto' } },
      imageTool,
      ...tools,
    ]
    const request = ask('maker', { tools: all, reasoning: { effort: 'low' } })
    for (const response of await both(t, client, request)) {
      t.equal(new Set(response.output.map(({ type }) => type)).size, 5)
      const question = { role: 'user' as const, content: 'Which way is north?' }
      const input = [question, ...(response.output as ResponseInputItem[]), ...resultsOf(response)]
      t.equal((await client.responses.create({ ...request, input })).status, 'completed')
      const sent = JSON.stringify(sandbox.calls().at(-1)?.body)
      t.notMatch(sent, new RegExp(`(?:rs|ws|ci|ig|fc|cntr)_${response.id.slice('resp_'.length)}`))
      for (const kept of ['encrypted_content', 'call_id', 'Ran this code', '"result"']) t.ok(sent.includes(kept), kept)
    }
  })

  t.test('what is only named by an id is nobody’s to name', async (t) => {
    const first = await client.responses.create(ask('plain', { tools: [imageTool], reasoning: { effort: 'low' } }))
    const refuse = async (item: object, param: string): Promise<void> => {
      const input = [item, { role: 'user', content: 'Show it' }] as ResponseInputItem[]
      t.match(await faultOf(client.responses.create(ask('plain', { input }))), { status: 400, param })
    }
    const idOf = (type: string): string | null | undefined => first.output.find((item) => item.type === type)?.id
    await refuse({ type: 'image_generation_call', id: idOf('image_generation_call') }, 'input[0]')
    await refuse({ type: 'reasoning', id: idOf('reasoning'), summary: [] }, 'input[0]')
    await refuse({ type: 'item_reference', id: idOf('message') }, 'input[0]')
  })

  t.test('xAI, whose tools stand in its usage', async (t) => {
    const xaiTools: unknown[] = [{ type: 'web_search' }, { type: 'x_search' }]
    const { data, response } = await client
      .post<Response>('/responses', { body: { model: 'grok/xai', input: 'Hi', tools: xaiTools } })
      .withResponse()
    t.equal(data.status, 'completed')
    const { lines } = await billOf(running, response.headers.get('x-request-id'))
    t.match(
      lines.find(({ item }) => item === 'web_search'),
      { quantity: 2 },
    )
    t.match(
      lines.find(({ item }) => item === 'x_search'),
      { quantity: 1 },
    )
  })

  t.test('what the cache gave and took, by hand', async (t) => {
    const bills = await startBilling(running)
    await both(t, client, ask('cached'))
    // 300 at 2, 600 at 0.2, 100 at 2.5, 10 out at 8, per million.
    for (const { total } of await bills(t)) t.equal(total, '0.00105')
  })

  t.test('a response is gone on from, told and deleted by its own workspace alone', async (t) => {
    const other = clientOf(running, (await operator.openAccount('umbrella', '10')).secret)
    const before = async (): Promise<number> => (await operator.events()).length
    const first = await client.responses.create(ask('plain'))
    const second = await client.responses.create(ask('plain', { previous_response_id: first.id }))
    t.equal(second.usage?.input_tokens, 4 + 6 + 4)
    const missing = { status: 400, code: 'invalid_value', param: 'previous_response_id' }
    t.match(await faultOf(other.responses.create(ask('plain', { previous_response_id: first.id }))), missing)
    const events = await before()
    t.same((await client.responses.retrieve(first.id)).output, first.output)
    t.match(await faultOf(other.responses.retrieve(first.id)), { status: 404, code: 'not_found' })
    t.match(await faultOf(other.responses.delete(first.id)), { status: 404, code: 'not_found' })
    await client.responses.delete(first.id)
    t.match(await faultOf(client.responses.retrieve(first.id)), { status: 404 })
    t.match(await faultOf(client.responses.create(ask('plain', { previous_response_id: first.id }))), { status: 400 })
    t.match(
      await faultOf(
        client.responses.create({ ...ask('plain', { previous_response_id: second.id }), model: 'grok/xai' }),
      ),
      {
        status: 400,
        param: 'model',
      },
    )
    const streamedFirst = await streamed(t, client, ask('plain'))
    t.equal((await client.responses.retrieve(streamedFirst.id)).id, streamedFirst.id)
    t.ok((await before()) > events)
  })

  t.test('a chain', async (t) => {
    const chain = { models: ['openai/down', 'grok/xai'] }
    const { data, response } = await client.responses.create({ ...ask('down'), ...chain } as Ask).withResponse()
    t.equal(textOf(data as Response), 'You said: Which way is north?')
    t.equal(response.headers.get('x-gateway-fallback-model'), 'grok/xai')
  })

  t.test('errors by class', async (t) => {
    type Row = readonly [() => Promise<unknown>, abstract new (...args: never[]) => Error, expected: object]
    const create =
      (model: string, change: object = {}) =>
      () =>
        client.responses.create({ ...ask(model), ...change } as Ask)
    const { BadRequestError, InternalServerError } = OpenAI
    const rows: readonly Row[] = [
      [
        () => clientOf(running, 'sk-nobody').responses.create(ask('plain')),
        OpenAI.AuthenticationError,
        { code: 'invalid_api_key' },
      ],
      [create('plain', { temperature: 3 }), BadRequestError, { code: 'invalid_value', param: 'temperature' }],
      [create('plain', { background: true }), BadRequestError, { code: 'unsupported_parameter', param: 'background' }],
      [create('plain', { conversation: 'conv_1' }), BadRequestError, { param: 'conversation' }],
      [
        create('plain', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }),
        BadRequestError,
        { param: 'tools[0].type' },
      ],
      [create('absent'), OpenAI.NotFoundError, { code: 'model_not_found' }],
      [create('busy'), OpenAI.RateLimitError, { code: 'rate_limit_exceeded' }],
      [create('down'), InternalServerError, { status: 502, code: 'upstream_error' }],
      [create('failed'), InternalServerError, { status: 502 }],
      ...['anthropic/plain', 'gemini/plain', 'google/plain'].map(
        (model): Row => [
          create('plain', { model, tools: [{ type: 'x_search' }], tool_choice: { type: 'x_search' } }),
          BadRequestError,
          { code: 'unsupported_parameter', param: 'tool_choice' },
        ],
      ),
    ]
    for (const [asked, kind, expected] of rows) {
      const fault = await faultOf(asked())
      t.ok(fault instanceof kind, JSON.stringify(expected))
      t.match(fault, { ...expected, requestID: String })
    }
  })

  t.test('routers and chains pass over what is not available here', async (t) => {
    const logprobs = { top_logprobs: 2 }
    const router = async (name: string) => {
      const before = sandbox.calls().length
      const asking = ask('plain', { model: name, ...logprobs })
      const { response, request_id } = await client.responses.create(asking).withResponse()
      const { attempts } = await billOf(running, request_id)
      const resolved = response.headers.get('x-gateway-resolved-model')
      const tried = attempts.map(({ model, outcome, reason }) => [model, outcome, reason].join(' ').trim())
      return { resolved, tried, asked: sandbox.calls().length - before }
    }
    t.same(await router('gateway/auto'), {
      resolved: 'grok/plain',
      tried: ['openai/down failed status_503', 'gemini/plain passed_over unsupported_parameter', 'grok/plain served'],
      asked: 2,
    })
    t.same(await router('gateway/google'), {
      resolved: 'openai/plain',
      tried: ['gemini/plain passed_over unsupported_parameter', 'openai/plain served'],
      asked: 1,
    })
    const extra_body = { models: ['anthropic/plain', 'gemini/plain', 'openai/plain'], route: 'fallback' }
    const { response } = await client.responses.create({ ...ask('down', logprobs), ...{ extra_body } }).withResponse()
    t.equal(response.headers.get('x-gateway-fallback-level'), '2')
    t.equal(response.headers.get('x-gateway-fallback-model'), 'openai/plain')
    const rows: readonly (readonly [string, object])[] = [
      ['gateway/failing', { status: 502, code: 'fallback_exhausted' }],
      ['gateway/absent', { status: 400, code: 'unsupported_parameter', param: 'top_logprobs' }],
    ]
    for (const [model, expected] of rows)
      t.match(await faultOf(client.responses.create(ask('plain', { model, ...logprobs }))), expected)
  })

  t.test('what is not implemented is not asked again', async (t) => {
    let asked = 0
    const counting: typeof fetch = (input, init) => {
      asked += 1
      return fetch(input, init)
    }
    const patient = client.withOptions({ maxRetries: 2, fetch: counting })
    await faultOf(patient.responses.create(ask('plain', { model: 'anthropic/plain' })))
    t.equal(asked, 1)
  })

  t.test('a stream that fails raises its error, numbered, and is billed for what was delivered', async (t) => {
    const { data: stream, request_id } = await client.responses.create({ ...ask('odd'), stream: true }).withResponse()
    const seen: number[] = []
    const read = async (): Promise<void> => {
      for await (const { sequence_number } of stream) seen.push(sequence_number)
    }
    const fault = await faultOf(read())
    t.ok(fault instanceof OpenAI.APIError)
    t.match(fault, { code: 'upstream_stream_interrupted', type: 'upstream_error' })
    t.match(await billOf(running, request_id), { outcome: 'interrupted', source: 'estimated' })
  })

  t.test('agents read the reason, and how long to wait, from the failed response', async (t) => {
    const asking = (signal: AbortSignal): Promise<globalThis.Response> =>
      fetch(`${running.gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${running.account.secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...ask('limited', { instructions: 'Be brief.' }), stream: true }),
        signal,
      })
    const text = await (await asking(AbortSignal.timeout(10_000))).text()
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
    for (const event of events) t.same(notOfFormat(problemsOfResponsesEvent(event)), [], event.type)
    t.same(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, index) => index),
    )
    const [created] = events
    const [error, failed] = events.slice(-2)
    t.match(error, { type: 'error', code: 'upstream_stream_interrupted', error: { type: 'upstream_error' } })
    const { response } = failed
    t.match(failed, { type: 'response.failed', response: { status: 'failed', error: { code: 'rate_limit_exceeded' } } })
    t.match(response, { id: created.response.id, instructions: 'Be brief.', output: [] })
    t.match(response.error.message, /Please try again in 11\.054s .*\[redacted\].*\[redacted\].*\[redacted\]/)
    for (const secret of ['sk-upstream-secret', sandboxOrganisation, '127.0.0.1'])
      t.notOk(text.includes(secret), secret)
    t.equal(text.match(/\n\n$/)?.length, 1)
  })

  t.test('a client that leaves pays for what it got', async (t) => {
    const { data: stream, request_id } = await client.responses.create({ ...ask('slow'), stream: true }).withResponse()
    let words = 0
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') words += 1
      if (words === 5) break
    }
    const bill = await billOf(running, request_id)
    t.match(bill, { outcome: 'client_gone', source: 'estimated' })
    t.ok(bill.usage.outputTotal >= 4 && bill.usage.outputTotal < 100, `${bill.usage.outputTotal} tokens`)
    await until(() => sandbox.calls().at(-1)?.outcome === 'cancelled')
  })

  t.test('an answer that tells no usage is counted, and told so', async (t) => {
    for (const response of await both(t, client, ask('mute'))) t.ok(response.usage?.output_tokens)
  })

  t.test('comments, other line ends, cut events and a needless end change nothing', async (t) => {
    const bills = await startBilling(running)
    t.equal(textOf(await streamed(t, client, ask('cut'))), 'You said: Which way is north?')
    await bills(t)
  })

  t.test('which models can be asked here', async (t) => {
    const types = new Map<string, unknown>()
    for await (const model of client.models.list()) types.set(model.id, plainJson(model)['supported_endpoint_types'])
    t.same(types.get('openai/plain'), ['openai', 'anthropic', 'openai-response', 'gemini'])
    t.same(types.get('anthropic/plain'), ['openai', 'anthropic', 'openai-response', 'gemini'])
  })
})

t.test('what nobody knows yet goes through as it comes; an error of ours takes the next number', async (t) => {
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] }
  const events = [
    { type: 'response.created', sequence_number: 0, response },
    { type: 'response.novel.delta', sequence_number: 1, delta: 'x', novelty: { sequence_number: 'none' } },
    {
      type: 'response.output_text.delta',
      sequence_number: 2,
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'Hi',
    },
  ].map(namedEvent)
  const baseUrl = await startScriptedUpstream(t, events.join(''))
  const provider = { name: 'openai', dialect: 'openai', profile: 'openai', baseUrl, apiKey: 'x', models: {} } as const
  const running = await startTestGateway(t, { config: { providers: [provider] } })
  const answered = await fetch(`${running.gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${running.account.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...ask('plain'), stream: true }),
  })
  const text = await answered.text()
  t.ok(text.startsWith(events.join('')))
  const own = [...text.slice(events.join('').length).matchAll(/^data: (.*)$/gm)].map(([, data = '']) =>
    JSON.parse(data),
  )
  t.match(own, [
    { type: 'error', sequence_number: 3, code: 'upstream_stream_interrupted' },
    {
      type: 'response.failed',
      sequence_number: 4,
      response: { id: 'resp_1', status: 'failed', error: { code: 'upstream_stream_interrupted' } },
    },
  ])
  for (const event of own) t.same(problemsOfResponsesEvent(event), [])
  t.match(await billOf(running, answered.headers.get('x-request-id')), { outcome: 'interrupted', source: 'estimated' })
})
