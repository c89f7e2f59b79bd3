import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { problemsOfChatChunk, problemsOfChatResponse } from '../../reference/contract.ts'
import { problemsOfResponse, problemsOfResponsesEvent } from '../../reference/responses-contract.ts'
import { billOf, checkReservations, countLasting, startBilling } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { sheetOf, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { inLongForm } from '../../support/long-form.ts'

/** Every provider has every model. */
const models = {
  weather: 'weather;tool_calls=2',
  thinker: 'thinker',
  searcher: 'searcher;searches=2',
  'gemini-2.5-flash': 'gemini-2.5-flash;searches=2',
  'gemini-3-flash': 'gemini-3-flash;searches=2',
  slow: 'slow;output_tokens=200;chunk_delay_ms=20',
  mute: 'mute;no_usage',
  cut: 'cut;comment;crlf;split=7',
  down: 'down;status=503',
  refused: 'refused;status=400;error_message=the prompt is odd',
  odd: 'odd;output_tokens=20;stream_error=8',
  broken: 'broken;output_tokens=20;break_after=8',
}
const providers = ['openai', 'grok', 'google', 'gemini', 'anthropic']
const isOfAnotherDialect = (provider: string): boolean => provider !== 'grok' && provider !== 'google'
const perCall = { web_search: '0.01', grounded_prompt: '0.035', grounding_query: '0.014' }
const sheets = Object.fromEntries(
  providers.flatMap((provider) =>
    ['plain', ...Object.keys(models)].map((model) => [
      `${provider}/${model}`,
      sheetOf({ max_output_tokens: 8_000, per_call: perCall }),
    ]),
  ),
)

const openaiOf = ({ gateway, account }: TestGateway): OpenAI =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.secret, maxRetries: 0 })
const anthropicOf = ({ gateway, account }: TestGateway): Anthropic =>
  new Anthropic({ baseURL: gateway.url, apiKey: account.secret, maxRetries: 0 })

const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (fault: unknown) => fault,
  )

const question = [{ role: 'user' as const, content: 'Which way is north?' }]
const answer = 'You said: Which way is north?'
const parameters = {
  type: 'object' as const,
  properties: { place: { type: 'string' } },
  required: ['place'],
  additionalProperties: false,
}

type ChatAsk = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>
type Completion = Pick<OpenAI.ChatCompletion, 'choices' | 'usage'>

/** The same chat request whole and as a stream that the SDK puts together, each held against the contract. */
const chatBoth = async (t: Test, client: OpenAI, request: ChatAsk): Promise<readonly Completion[]> => {
  const whole = await client.chat.completions.create(request)
  t.same(problemsOfChatResponse(whole), [])
  const stream = client.chat.completions.stream({ ...request, stream: true, stream_options: { include_usage: true } })
  stream.on('chunk', (chunk) => t.same(problemsOfChatChunk(chunk), []))
  return [whole, await stream.finalChatCompletion()]
}

const plainJson = (value: unknown): { readonly [key: string]: unknown } => JSON.parse(JSON.stringify(value))

/** OpenResponses leaves out the schema that an answer was asked for with, and custom tools. */
const notOfRequest = (problems: readonly string[]): readonly string[] =>
  problems.filter((problem) => !/^(?:\/response)?\/(?:text\/format|tools)\b/.test(problem))

type ResponsesAsk = OpenAI.Responses.ResponseCreateParamsNonStreaming

/** The same request whole and as a stream that the SDK puts together, each held against the contract. */
const responsesBoth = async (
  t: Test,
  client: OpenAI,
  request: ResponsesAsk,
): Promise<readonly OpenAI.Responses.Response[]> => {
  const whole = await client.responses.create(request)
  t.same(notOfRequest(problemsOfResponse(plainJson(whole))), [])
  const stream = client.responses.stream({ ...request, stream: true })
  stream.on('event', (event) => t.same(notOfRequest(problemsOfResponsesEvent(plainJson(event))), []))
  return [whole, await stream.finalResponse()]
}

type MessagesAsk = Anthropic.MessageCreateParamsNonStreaming

const messagesBoth = async (client: Anthropic, request: MessagesAsk): Promise<readonly Anthropic.Message[]> => [
  await client.messages.create(request),
  await client.messages.stream(request).finalMessage(),
]

const textOf = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

/** What a provider is sent for an agent's instructions behind its question. */
const sentByAgent = (provider: string): object => {
  const asked = 'Which way is north?'
  if (provider === 'gemini')
    return {
      systemInstruction: { parts: [{ text: 'Be an agent.' }] },
      contents: [{ role: 'user', parts: [{ text: asked }, { text: 'Be quick.' }] }],
    }
  return {
    messages: [
      { role: 'system', content: 'Be an agent.' },
      { role: 'user', content: asked },
      { role: provider === 'google' ? 'user' : 'system', content: 'Be quick.' },
    ],
    user: undefined,
  }
}

t.test('any model on chat and messages, over HTTP, on real servers', async (t) => {
  const running = await startTestGateway(t, { models, sheets })
  const openai = openaiOf(running)
  const anthropic = anthropicOf(running)

  for (const provider of ['anthropic', 'gemini'])
    t.test(`chat with ${provider}`, async (t) => {
      const ask = (model: string, change: Partial<ChatAsk> = {}): ChatAsk => ({
        model: `${provider}/${model}`,
        messages: question,
        ...change,
      })

      t.test('text, and what it costs', async (t) => {
        const bills = await startBilling(running)
        for (const { choices, usage } of await chatBoth(t, openai, ask('plain'))) {
          t.match(choices, [{ message: { role: 'assistant', content: answer }, finish_reason: 'stop' }])
          t.match(usage, { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 })
        }
        t.same(
          (await bills(t)).map(({ model, surface, total }) => [model, surface, total]),
          [
            [`${provider}/plain`, 'chat', '0.000016'],
            [`${provider}/plain`, 'chat', '0.000016'],
          ],
        )
      })

      t.test('tools: parallel calls, and the loop to its end', async (t) => {
        const bills = await startBilling(running)
        const tools = ['weather', 'clock'].map((name) => ({
          type: 'function' as const,
          function: { name, parameters },
        }))
        for (const { choices } of await chatBoth(t, openai, ask('weather', { tools }))) {
          const message = choices[0]!.message
          t.equal(choices[0]?.finish_reason, 'tool_calls')
          t.equal(message.tool_calls?.length, 2)
          const results = (message.tool_calls ?? []).map(({ id }) => ({
            role: 'tool' as const,
            tool_call_id: id,
            content: 'sunny',
          }))
          const after = await openai.chat.completions.create(
            ask('weather', { tools, messages: [...question, message, ...results] }),
          )
          t.equal(after.choices[0]?.finish_reason, 'stop')
        }
        t.equal((await bills(t)).length, 4)
      })

      t.test('structured output, images, thinking', async (t) => {
        const bills = await startBilling(running)
        const json_schema = { name: 'place', schema: parameters, strict: true }
        const asked = ask('plain', { response_format: { type: 'json_schema', json_schema } })
        for (const { choices } of await chatBoth(t, openai, asked))
          t.type(JSON.parse(choices[0]?.message.content ?? '').place, 'string')
        const content: OpenAI.ChatCompletionContentPart[] = [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ]
        await chatBoth(t, openai, ask('plain', { messages: [{ role: 'user', content }] }))
        for (const { usage } of await chatBoth(t, openai, ask('thinker', { reasoning_effort: 'low' })))
          t.ok(usage?.completion_tokens_details?.reasoning_tokens)
        await bills(t)
      })

      t.test('bad input is told with its field', async (t) => {
        for (const [change, param] of [
          [{ n: 2 }, 'n'],
          [{ logprobs: true }, 'logprobs'],
        ] as const) {
          const fault = await faultOf(openai.chat.completions.create(ask('plain', change)))
          t.ok(fault instanceof OpenAI.BadRequestError)
          t.match(fault, { param, code: 'unsupported_parameter' })
        }
        const refused = await faultOf(openai.chat.completions.create(ask('refused')))
        t.ok(refused instanceof OpenAI.BadRequestError && /the prompt is odd/.test(refused.message))
      })

      t.test('streams that fail, clients that leave, usage that is missing', async (t) => {
        for (const model of ['odd', 'broken']) {
          const { data, request_id } = await openai.chat.completions
            .create({ ...ask(model), stream: true })
            .withResponse()
          const read = async (): Promise<void> => {
            for await (const chunk of data) t.ok(chunk.id)
          }
          t.match(await faultOf(read()), { code: 'upstream_stream_interrupted' }, model)
          t.match(await billOf(running, request_id), { outcome: 'interrupted' })
        }
        const slow = await openai.chat.completions.create({ ...ask('slow'), stream: true }).withResponse()
        let words = 0
        for await (const chunk of slow.data) {
          if (chunk.choices[0]?.delta.content) words += 1
          if (words === 5) break
        }
        const bill = await billOf(running, slow.request_id)
        t.match(bill, { outcome: 'client_gone' })
        const isReadOn = provider === 'gemini' // Its billing goes on where it is cancelled.
        const { outputTotal } = bill.usage
        t.ok(isReadOn ? outputTotal === 200 : outputTotal >= 4 && outputTotal < 100, `${outputTotal} tokens`)
        await until(() => running.sandbox.calls().at(-1)?.outcome === (isReadOn ? 'completed' : 'cancelled'))
        for (const { usage } of await chatBoth(t, openai, ask('mute'))) t.ok(usage?.completion_tokens)
      })

      t.test('a chat of instructions alone is answered', async (t) => {
        for (const role of ['system', 'developer'] as const) {
          const messages = [{ role, content: 'Which way is north?' }]
          for (const { choices } of await chatBoth(t, openai, ask('plain', { messages })))
            t.equal(choices[0]?.message.content, answer)
        }
      })

      t.test('cut events change nothing', async (t) => {
        const bills = await startBilling(running)
        for (const { choices } of await chatBoth(t, openai, ask('cut'))) t.equal(choices[0]?.message.content, answer)
        await bills(t)
      })
    })

  t.test('chat’s web search, by whatever a provider charges for it', async (t) => {
    const rows = [
      ['anthropic/searcher', 'web_search', 2],
      ['gemini/gemini-2.5-flash', 'grounded_prompt', 1],
      ['gemini/gemini-3-flash', 'grounding_query', 2],
    ] as const
    for (const [model, item, quantity] of rows) {
      const { response } = await openai.chat.completions
        .create({ model, messages: question, web_search_options: {} })
        .withResponse()
      const { lines } = await billOf(running, response.headers.get('x-request-id'))
      t.match(
        lines.find((line) => line.item === item),
        { quantity },
        model,
      )
    }
  })

  for (const provider of inLongForm(['openai', 'grok', 'google', 'gemini'], isOfAnotherDialect))
    t.test(`messages with ${provider}`, async (t) => {
      const ask = (model: string, change: Partial<MessagesAsk> = {}): MessagesAsk => ({
        model: `${provider}/${model}`,
        max_tokens: 4_000,
        messages: question,
        ...change,
      })

      t.test('text, and what it costs', async (t) => {
        const bills = await startBilling(running)
        for (const message of await messagesBoth(anthropic, ask('plain', { system: 'Be brief.' }))) {
          t.equal(textOf(message), answer)
          t.match(message, { type: 'message', stop_reason: 'end_turn', model: `${provider}/plain` })
          t.match(message.usage, { input_tokens: 6, output_tokens: 6 })
        }
        for (const { total, surface } of await bills(t)) t.same([total, surface], ['0.000018', 'messages'])
      })

      t.test('tools: parallel calls, and the loop to its end', async (t) => {
        const bills = await startBilling(running)
        const tools = ['weather', 'clock'].map((name) => ({ name, input_schema: parameters }))
        for (const message of await messagesBoth(anthropic, ask('weather', { tools }))) {
          t.equal(message.stop_reason, 'tool_use')
          const calls = message.content.filter((block) => block.type === 'tool_use')
          t.equal(calls.length, 2)
          for (const { input } of calls) t.match(input, { place: String })
          const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'sunny' }))
          const messages: Anthropic.MessageParam[] = [
            ...question,
            { role: 'assistant', content: message.content },
            { role: 'user', content: results },
          ]
          const after = await anthropic.messages.create(ask('weather', { tools, messages }))
          t.equal(after.stop_reason, 'end_turn')
        }
        t.equal((await bills(t)).length, 4)
      })

      t.test('what an agent sends with every turn', async (t) => {
        const bills = await startBilling(running)
        const cache_control = { type: 'ephemeral' as const }
        const agents: Partial<Anthropic.Beta.MessageCreateParamsNonStreaming> = {
          betas: ['context-management-2025-06-27', 'effort-2025-11-24'],
          cache_control,
          context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
          metadata: { user_id: JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's'.repeat(36) }) },
          mcp_servers: [],
          output_config: { effort: 'high', task_budget: { type: 'tokens', total: 20_000 } },
          thinking: { type: 'adaptive', display: 'summarized' },
          system: [{ type: 'text', text: 'Be an agent.', cache_control }],
          messages: [...question, { role: 'system', content: [{ type: 'text', text: 'Be quick.', cache_control }] }],
        }
        const { content } = await anthropic.beta.messages.create({ ...ask('plain'), ...agents })
        t.match(content.at(-1), { type: 'text', text: /^You said: / })
        t.match(running.sandbox.calls().at(-1)?.body, sentByAgent(provider))
        t.equal((await bills(t)).length, 1)
      })

      t.test('structured output, images, thinking', async (t) => {
        const bills = await startBilling(running)
        const format = { type: 'json_schema' as const, schema: parameters }
        for (const message of await messagesBoth(anthropic, ask('plain', { output_config: { format } })))
          t.type(JSON.parse(textOf(message)).place, 'string')
        const content: Anthropic.ContentBlockParam[] = [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          { type: 'text', text: 'What is this?' },
        ]
        await messagesBoth(anthropic, ask('plain', { messages: [{ role: 'user', content }] }))
        const thinking = { type: 'enabled' as const, budget_tokens: 2_048 }
        for (const message of await messagesBoth(anthropic, ask('thinker', { thinking })))
          t.equal(message.stop_reason, 'end_turn')
        await bills(t)
      })

      t.test('tokens are counted for nothing', async (t) => {
        const before = await countLasting(running.operator)
        const { input_tokens } = await anthropic.messages.countTokens({
          model: `${provider}/plain`,
          messages: question,
        })
        t.ok(input_tokens > 0)
        t.equal(await countLasting(running.operator), before)
      })

      t.test('bad input, streams that fail, usage that is missing', async (t) => {
        const content: Anthropic.ContentBlockParam[] = [{ type: 'tool_result', tool_use_id: 'toolu_none' }]
        const fault = await faultOf(anthropic.messages.create(ask('plain', { messages: [{ role: 'user', content }] })))
        t.ok(fault instanceof Anthropic.BadRequestError)
        t.match(fault, {
          error: { error: { type: 'invalid_request_error', param: 'messages[0].content[0].tool_use_id' } },
        })
        for (const model of ['odd', 'broken']) {
          const stream = anthropic.messages.stream(ask(model))
          const broken = await faultOf(stream.finalMessage())
          t.match(broken, { error: { error: { type: 'api_error', code: 'upstream_stream_interrupted' } } }, model)
          t.match(await billOf(running, stream.request_id), { outcome: 'interrupted' })
        }
        for (const message of await messagesBoth(anthropic, ask('mute'))) t.ok(message.usage.output_tokens)
      })
    })

  for (const provider of inLongForm(['anthropic', 'gemini', 'google'], isOfAnotherDialect))
    t.test(`responses with ${provider}`, async (t) => {
      const ask = (model: string, change: Partial<ResponsesAsk> = {}): ResponsesAsk => ({
        model: `${provider}/${model}`,
        input: 'Which way is north?',
        ...change,
      })
      const both = (change: ResponsesAsk): Promise<readonly OpenAI.Responses.Response[]> =>
        responsesBoth(t, openai, change)

      t.test('text, and what it costs', async (t) => {
        const bills = await startBilling(running)
        for (const response of await both(ask('plain', { store: true, metadata: { a: 'b' } }))) {
          t.equal(response.output_text, answer)
          t.match(response, { status: 'completed', store: false, metadata: { a: 'b' }, model: `${provider}/plain` })
          t.match(response.usage, { input_tokens: 4, output_tokens: 6, total_tokens: 10 })
          t.match(await faultOf(openai.responses.retrieve(response.id)), { status: 404 })
          const after = ask('plain', { previous_response_id: response.id })
          t.match(await faultOf(openai.responses.create(after)), { status: 400, param: 'previous_response_id' })
        }
        for (const { total, surface } of await bills(t)) t.same([total, surface], ['0.000016', 'responses'])
      })

      t.test('tools: parallel calls, and the loop to its end, with all items sent back', async (t) => {
        const bills = await startBilling(running)
        const tools: OpenAI.Responses.Tool[] = [
          { type: 'function', name: 'weather', parameters, strict: true },
          { type: 'custom', name: 'clock' },
          { type: 'code_interpreter', container: { type: 'auto' } },
        ]
        for (const { output } of await both(ask('weather', { tools }))) {
          const calls = output.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
          t.same(
            calls.map(({ type }) => type),
            ['function_call', 'custom_tool_call'],
          )
          const results = calls.map((call) => ({
            type: `${call.type}_output`,
            call_id: 'call_id' in call ? call.call_id : '',
            output: 'sunny',
          })) as OpenAI.Responses.ResponseInputItem[]
          const input = [{ role: 'user' as const, content: 'Where?' }, ...output, ...results]
          const after = openai.responses.create(
            ask('weather', { tools, input: input as OpenAI.Responses.ResponseInput }),
          )
          const { data, response } = await after.withResponse()
          t.match(data.output_text, /\S/)
          t.equal(response.headers.get('x-gateway-dropped-tools'), 'code_interpreter')
        }
        t.equal((await bills(t)).length, 4)
      })

      t.test('structured output, images, thinking', async (t) => {
        const bills = await startBilling(running)
        const format = { type: 'json_schema' as const, name: 'place', schema: parameters, strict: true }
        for (const { output_text: text } of await both(ask('plain', { text: { format } })))
          t.type(JSON.parse(text).place, 'string')
        const content: OpenAI.Responses.ResponseInputContent[] = [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
        ]
        await both(ask('plain', { input: [{ role: 'user', content }] }))
        for (const { usage, output } of await both(ask('thinker', { reasoning: { effort: 'low', summary: 'auto' } }))) {
          t.ok(usage?.output_tokens_details.reasoning_tokens)
          const next = { role: 'user' as const, content: 'And south?' }
          const input = [
            { role: 'user' as const, content: 'North?' },
            ...output,
            next,
          ] as OpenAI.Responses.ResponseInput
          t.match(await openai.responses.create(ask('thinker', { input })), { status: 'completed' })
        }
        await bills(t)
      })

      t.test('bad input is told with its field', async (t) => {
        for (const [change, param] of [
          [{ top_logprobs: 2 }, 'top_logprobs'],
          [{ tool_choice: { type: 'code_interpreter' } }, 'tool_choice'],
          [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input[0].call_id'],
        ] as const) {
          const fault = await faultOf(openai.responses.create(ask('plain', change as Partial<ResponsesAsk>)))
          t.ok(fault instanceof OpenAI.BadRequestError)
          t.match(fault, { param })
        }
        const refused = await faultOf(openai.responses.create(ask('refused')))
        t.ok(refused instanceof OpenAI.BadRequestError && /the prompt is odd/.test(refused.message))
      })

      t.test('streams that fail, clients that leave, usage that is missing', async (t) => {
        for (const model of ['odd', 'broken']) {
          const { data, request_id } = await openai.responses.create({ ...ask(model), stream: true }).withResponse()
          const types: string[] = []
          const fault = await faultOf(
            (async () => {
              for await (const { type } of data) types.push(type)
            })(),
          )
          t.match([fault ? 'error' : types.at(-1), types[0]], [/error|response.failed/, 'response.created'], model)
          t.match(await billOf(running, request_id), { outcome: 'interrupted' })
        }
        const slow = await openai.responses.create({ ...ask('slow'), stream: true }).withResponse()
        let words = 0
        for await (const { type } of slow.data) {
          if (type === 'response.output_text.delta') words += 1
          if (words === 5) break
        }
        t.match(await billOf(running, slow.request_id), { outcome: 'client_gone' })
        for (const { usage } of await both(ask('mute'))) t.ok(usage?.output_tokens)
        for (const { output_text: text } of await both(ask('cut'))) t.equal(text, answer)
      })
    })

  t.test('the web search of responses, by whatever a provider charges for it', async (t) => {
    const rows = [
      ['anthropic/searcher', 'web_search', 2],
      ['gemini/gemini-2.5-flash', 'grounded_prompt', 1],
      ['gemini/gemini-3-flash', 'grounding_query', 2],
    ] as const
    for (const [model, item, quantity] of rows) {
      const tools = [{ type: 'web_search' as const }]
      const { request_id } = await openai.responses.create({ model, input: 'News?', tools }).withResponse()
      const { lines } = await billOf(running, request_id)
      t.match(
        lines.find((line) => line.item === item),
        { quantity },
        model,
      )
    }
  })

  t.test('chains lead from dialect to dialect, on every surface', async (t) => {
    const chain = (...names: string[]): object => ({ models: names })
    const chat = await openai.chat.completions
      .create({ model: 'x', messages: question, ...chain('openai/down', 'anthropic/down', 'gemini/plain') })
      .withResponse()
    t.equal(chat.data.choices[0]?.message.content, answer)
    t.equal(chat.response.headers.get('x-gateway-fallback-model'), 'gemini/plain')
    const bill = await billOf(running, chat.request_id)
    t.match(bill, { model: 'gemini/plain', level: 2, total: '0.000016' })
    t.same(
      bill.attempts.map(({ model, outcome }) => [model, outcome]),
      [
        ['openai/down', 'failed'],
        ['anthropic/down', 'failed'],
        ['gemini/plain', 'served'],
      ],
    )
    for (const last of ['openai/plain', 'anthropic/plain']) {
      const request = { model: 'x', max_tokens: 50, messages: question, ...chain('gemini/down', 'grok/down', last) }
      const message = await anthropic.messages.create(request).withResponse()
      t.equal(textOf(message.data), answer)
      t.equal(message.response.headers.get('x-gateway-fallback-level'), '2')
      const stream = anthropic.messages.stream(request)
      t.equal(textOf(await stream.finalMessage()), answer)
      t.match(await billOf(running, stream.request_id), { model: last, level: 2 })
    }
    const exhausted = { model: 'x', max_tokens: 50, messages: question, ...chain('gemini/down', 'anthropic/down') }
    t.match(await faultOf(anthropic.messages.create(exhausted)), {
      status: 502,
      error: { error: { type: 'api_error', code: 'fallback_exhausted' } },
    })
    const response = await openai.responses.create({ model: 'x', input: 'Hi', ...chain('openai/down', 'grok/plain') })
    t.equal('output_text' in response && response.output_text, 'You said: Hi')
  })

  t.test('what was set aside covers all of it', (t) => checkReservations(t, running))
})
