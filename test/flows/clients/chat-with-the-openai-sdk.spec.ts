import OpenAI from 'openai'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import type { EventOf } from '../../../src/events/envelope.ts'
import {
  problemsOfChatChunk,
  problemsOfChatRequest,
  problemsOfChatResponse,
  problemsOfModels,
} from '../../reference/contract.ts'
import { sheetOf, startTestGateway, type TestGateway } from '../../support/gateway.ts'

const models = {
  weather: 'weather',
  thinker: 'thinker;reasoning_tokens=40;output_tokens=50',
  cached: 'cached;prompt_tokens=1000;cached_tokens=600;completion_tokens=10',
  long: 'long;prompt_tokens=300000;completion_tokens=10',
  listener: 'listener;prompt_tokens=100;audio_in_tokens=60;completion_tokens=30;audio_out_tokens=20',
  'search-preview': 'search-preview;prompt_tokens=10;completion_tokens=10',
  down: 'down;status=503',
  busy: 'busy;status=429;retry_after=7',
  refused: 'refused;status=400;error_message=the prompt is odd',
  broken: 'broken;break_after=4',
  mute: 'mute;no_usage=1',
}
const sheets = {
  'openai/cached': sheetOf({ per_million_tokens: { input: '2', cached_input: '0.2', output: '8' } }),
  'openai/long': sheetOf({
    per_million_tokens: { input: '1', output: '2' },
    tiers: [{ prompt_tokens_above: 272_000, per_million_tokens: { input: '2', output: '3' } }],
  }),
  'openai/listener': sheetOf({
    per_million_tokens: { input: '1', audio_input: '40', output: '2', audio_output: '80' },
  }),
  'openai/search-preview': sheetOf({
    per_call: { web_search_low: '0.03', web_search_medium: '0.035', web_search_high: '0.05' },
  }),
  'grok/plain': sheetOf(),
  'google/plain': sheetOf(),
}

const ask = [{ role: 'user' as const, content: 'What is the weather in Bern today?' }]

const clientOf = ({ gateway, account }: TestGateway): OpenAI =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.secret, maxRetries: 0 })

const billOf = async (
  { operator }: TestGateway,
  requestId: string | null | undefined,
): Promise<EventOf<'UsageRecorded'>['data'] | undefined> => {
  const events = await operator.events()
  return events.find(
    (event): event is EventOf<'UsageRecorded'> => event.type === 'UsageRecorded' && event.data.requestId === requestId,
  )?.data
}

t.test('the official SDK, over HTTP, on real servers', async (t) => {
  const running = await startTestGateway(t, { models, sheets })
  const { sandbox, gateway, account } = running
  const client = clientOf(running)

  t.test('an answer, its bill, and the contract in both directions', async (t) => {
    sandbox.reset()
    const { data, request_id } = await client.chat.completions
      .create({ model: 'openai/plain', messages: ask, max_tokens: 20 })
      .withResponse()
    t.same(problemsOfChatResponse(data), [])
    t.same(problemsOfChatRequest(sandbox.calls()[0]?.body), [])
    const bill = await billOf(running, request_id)
    const { prompt_tokens, completion_tokens } = data.usage!
    t.equal(bill?.total, formatUsd(BigInt(prompt_tokens) * 1_000_000n + BigInt(completion_tokens) * 2_000_000n))
    t.equal(bill?.source, 'reported')
  })

  t.test('a stream, with and without usage', async (t) => {
    const told = await client.chat.completions.create({
      model: 'plain',
      messages: ask,
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = []
    for await (const chunk of told) chunks.push(chunk)
    for (const chunk of chunks) t.same(problemsOfChatChunk(chunk), [])
    t.same(chunks.at(-1)?.choices, [])
    t.ok(chunks.at(-1)?.usage?.total_tokens)
    t.ok(chunks.slice(0, -1).every(({ usage }) => usage === null))

    const silent = await client.chat.completions.create({ model: 'plain', messages: ask, stream: true }).withResponse()
    const quiet = []
    for await (const chunk of silent.data) quiet.push(chunk)
    t.notOk(
      quiet.some((chunk) => 'usage' in chunk),
      'a client that did not ask sees no such member',
    )
    t.ok(quiet.every((chunk) => chunk.choices.length > 0))
    t.match(
      await billOf(running, silent.request_id),
      { source: 'reported', outcome: 'completed' },
      'it is billed all the same',
    )
  })

  const tools = ['weather', 'clock'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] } },
  }))

  t.test('tools: parallel calls, a tool loop, deltas as they arrive', async (t) => {
    const first = await client.chat.completions.create({
      model: 'openai/weather',
      messages: ask,
      tools,
      parallel_tool_calls: true,
    })
    const calls = first.choices[0]?.message.tool_calls ?? []
    t.equal(first.choices[0]?.finish_reason, 'tool_calls')
    t.equal(calls.length, 2)
    const second = await client.chat.completions.create({
      model: 'openai/weather',
      tools,
      messages: [
        ...ask,
        first.choices[0]!.message,
        ...calls.map((call) => ({ role: 'tool' as const, tool_call_id: call.id, content: 'sunny' })),
      ],
    })
    t.equal(second.choices[0]?.finish_reason, 'stop')

    const stream = client.chat.completions.stream({
      model: 'openai/weather',
      messages: ask,
      tools,
      tool_choice: 'required',
    })
    const final = await stream.finalChatCompletion()
    const [call] = final.choices[0]?.message.tool_calls ?? []
    t.ok(call?.type === 'function' && JSON.parse(call.function.arguments).place)
  })

  t.test('structured output', async (t) => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    const { choices } = await client.chat.completions.create({
      model: 'plain',
      messages: ask,
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    })
    t.type(JSON.parse(choices[0]?.message.content ?? '').city, 'string')
    const object = await client.chat.completions.create({
      model: 'plain',
      messages: ask,
      response_format: { type: 'json_object' },
    })
    t.type(JSON.parse(object.choices[0]?.message.content ?? ''), 'object')
  })

  t.test('image and audio parts', async (t) => {
    const { data: answer, request_id } = await client.chat.completions
      .create({
        model: 'openai/listener',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
              { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
            ],
          },
        ],
      })
      .withResponse()
    t.ok(answer.choices[0]?.message.content)
    // By hand: 40 text in at 1, 60 audio in at 40, 10 out at 2, 20 audio out at 80, per million.
    t.equal((await billOf(running, request_id))?.total, '0.00406')
  })

  t.test('reasoning is billed as a line of its own', async (t) => {
    const { data, request_id } = await client.chat.completions
      .create({ model: 'openai/thinker', messages: ask, reasoning_effort: 'high' })
      .withResponse()
    t.equal(data.usage?.completion_tokens_details?.reasoning_tokens, 40)
    const bill = await billOf(running, request_id)
    t.equal(bill?.lines.find(({ item }) => item === 'reasoning')?.amount, '0.00008')
  })

  t.test('cached input, long context and search are priced as published', async (t) => {
    const bills: string[] = []
    for (const model of ['openai/cached', 'openai/long', 'openai/search-preview']) {
      const { request_id } = await client.chat.completions
        .create({
          model,
          messages: ask,
          ...(model.includes('search') ? { web_search_options: { search_context_size: 'high' as const } } : {}),
        })
        .withResponse()
      bills.push((await billOf(running, request_id))?.total ?? 'no bill')
    }
    // By hand: 400 × 2 + 600 × 0.2 + 10 × 8; 300000 × 2 + 10 × 3; 10 × 1 + 10 × 2 and one search at 0.05.
    t.same(bills, ['0.001', '0.60003', '0.05003'])
  })

  t.test('usage profiles: xAI counts reasoning apart, Gemini leaves it to the total', async (t) => {
    for (const model of ['grok/plain', 'google/plain']) {
      const { request_id, data } = await client.chat.completions
        .create({ model, messages: ask, reasoning_effort: 'low' })
        .withResponse()
      const bill = await billOf(running, request_id)
      t.equal(bill?.usage.outputTotal, data.usage!.total_tokens - data.usage!.prompt_tokens, model)
    }
  })

  t.test('a fallback chain, nested and as the Python SDK sends it', async (t) => {
    for (const body of [
      { extra_body: { models: ['openai/down', 'openai/plain'], route: 'fallback' } },
      { models: ['openai/down', 'openai/plain'] },
    ]) {
      const { data, response, request_id } = await client.chat.completions
        .create({ model: 'openai/thinker', messages: ask, ...body })
        .withResponse()
      t.ok(data.choices[0])
      t.equal(response.headers.get('x-gateway-fallback-level'), '1')
      t.equal(response.headers.get('x-gateway-fallback-model'), 'openai/plain')
      t.match(await billOf(running, request_id), {
        model: 'openai/plain',
        level: 1,
        attempts: [{ outcome: 'failed', status: 503 }, { outcome: 'served' }],
      })
      t.notMatch(sandbox.calls().at(-1)?.body, { models: [String] }, 'routing extensions stay here')
    }
  })

  t.test('a named router', async (t) => {
    const { response } = await client.chat.completions.create({ model: 'gateway/auto', messages: ask }).withResponse()
    t.equal(response.headers.get('x-gateway-router'), 'auto')
    t.equal(response.headers.get('x-gateway-resolved-model'), 'openai/plain')
    t.equal(response.headers.get('x-gateway-fallback-level'), null)
  })

  t.test('errors by class', async (t) => {
    const failing = async (model: string, body = {}): Promise<InstanceType<typeof OpenAI.APIError>> => {
      try {
        await client.chat.completions.create({ model, messages: ask, ...body })
      } catch (fault) {
        if (fault instanceof OpenAI.APIError) return fault
        throw fault
      }
      throw new Error(`${model} did not fail`)
    }
    t.ok((await failing('openai/unknown')) instanceof OpenAI.NotFoundError)
    const refused = await failing('openai/refused')
    t.ok(refused instanceof OpenAI.BadRequestError)
    t.match(refused.message, /the prompt is odd/)
    for (const [message, param] of [
      [
        { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
        'messages[1].content[0].file.file_id',
      ],
      [{ role: 'assistant', content: null, audio: { id: 'audio_1' } }, 'messages[1].audio.id'],
    ] as const)
      t.match(await failing('openai/plain', { messages: [...ask, message] }), {
        status: 400,
        code: 'unsupported_parameter',
        param,
        message: /cannot be tied to your workspace/,
      })
    const busy = await failing('openai/busy')
    t.ok(busy instanceof OpenAI.RateLimitError)
    t.equal(busy.headers?.get('retry-after'), '7')
    t.match(await failing('openai/down'), { status: 502, code: 'upstream_error', type: 'upstream_error' })
    const exhausted = await failing('x', { models: ['openai/down', 'openai/busy'] })
    t.match(exhausted, { status: 502, code: 'fallback_exhausted' })
    t.equal(exhausted.headers?.get('x-gateway-fallback-level'), '1')
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'sk-nobody', maxRetries: 0 })
    await t.rejects(stranger.chat.completions.create({ model: 'plain', messages: ask }), {
      status: 401,
      code: 'invalid_api_key',
    })
  })

  t.test('after the first byte there is no fallback; what was delivered is billed, estimated', async (t) => {
    const stream = await client.chat.completions
      .create({ model: 'x', messages: ask, stream: true, ...{ models: ['openai/broken', 'openai/plain'] } })
      .withResponse()
    let text = ''
    await t.rejects(async () => {
      for await (const chunk of stream.data) text += chunk.choices[0]?.delta.content ?? ''
    }, /./)
    t.not(text, '')
    t.match(await billOf(running, stream.request_id), {
      model: 'openai/broken',
      source: 'estimated',
      outcome: 'interrupted',
    })
  })

  t.test('an answer without usage is counted and marked estimated', async (t) => {
    const { request_id } = await client.chat.completions.create({ model: 'openai/mute', messages: ask }).withResponse()
    const bill = await billOf(running, request_id)
    t.equal(bill?.source, 'estimated')
    t.ok(parseUsd(bill?.total ?? '0') > 0n)
  })

  t.test('the list of models', async (t) => {
    const { data, ...list } = (await (await fetch(`${gateway.url}/v1/models`)).json()) as { data: { id: string }[] }
    t.same(problemsOfModels({ ...list, data }), [])
    t.ok(data.some(({ id }) => id === 'openai/plain'))
    t.equal((await client.models.retrieve('openai/plain')).id, 'openai/plain')
  })

  t.test('the dashboard shows what it all cost, to the last digit', async (t) => {
    await running.operator.caughtUp()
    const charged = running.operator.tail.ledger.wallets.get(account.workspaceId)!.chargesPicos
    const headers = { authorization: `Bearer ${account.secret}` }
    const billing = async (what: string): Promise<string> =>
      (await fetch(`${gateway.url}/v1/dashboard/billing/${what}`, { headers })).text()
    const exactCents = formatUsd(charged * 100n)
    for (let tries = 0; tries < 100 && !(await billing('usage')).includes(`"total_usage":${exactCents}}`); tries += 1);
    t.match(await billing('usage'), `"total_usage":${exactCents}`)
    t.match(await billing('subscription'), '"hard_limit_usd":100')
  })
})
