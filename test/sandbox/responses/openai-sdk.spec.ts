import OpenAI from 'openai'
import type { Response, ResponseCreateParamsNonStreaming } from 'openai/resources/responses/responses'
import t from 'tap'
import type { Sandbox } from '../../../sandbox/server.ts'
import { errorOf, sandboxFor } from '../ask.ts'

type Question = Omit<ResponseCreateParamsNonStreaming, 'stream'>

const clientOf = (sandbox: Sandbox): OpenAI => new OpenAI({ apiKey: 'sk-test', baseURL: sandbox.url, maxRetries: 0 })

const question = (model = 'gpt-5.4'): Question => ({ model, input: 'Which way is north?' })

const weather = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
}

/** The same request whole and as a stream that the SDK puts together. */
const both = async (client: OpenAI, request: Question): Promise<readonly Response[]> => [
  await client.responses.create(request),
  await client.responses.stream(request).finalResponse(),
]

const typesOf = (response: Response): readonly string[] => response.output.map((item) => item.type)

t.test('text, whole and streamed', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const response of await both(clientOf(sandbox), question())) {
    t.equal(response.output_text, 'You said: Which way is north?')
    t.match(response, { status: 'completed', model: 'gpt-5.4', incomplete_details: null })
    t.strictSame(response.usage, {
      input_tokens: 4,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 10,
    })
  }
  t.match(sandbox.totals(), { calls: 2, completed: 2, tokens: { prompt: 8, output: 12 } })
})

t.test('reasoning is summarised where that is asked for, and spent first', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const reasoning = { effort: 'low' as const, summary: 'auto' as const }
  for (const response of await both(client, { ...question(), reasoning, include: ['reasoning.encrypted_content'] })) {
    t.strictSame(typesOf(response), ['reasoning', 'message'])
    t.match(response.output[0], { summary: [{ text: /^You said: The sandbox thinks/ }], encrypted_content: String })
    t.match(response.usage, { output_tokens: 16 + 6, output_tokens_details: { reasoning_tokens: 16 } })
  }
  for (const response of await both(client, { ...question(), reasoning: { effort: 'high' }, max_output_tokens: 66 })) {
    t.match(response, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    t.match(response.output.at(-1), { status: 'incomplete', content: [{ text: 'You said:' }] })
  }
})

t.test('functions and custom tools, in parallel, and their results', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request = {
    ...question(),
    tools: [weather, { type: 'custom' as const, name: 'shout' }],
    parallel_tool_calls: true,
  }
  for (const response of await both(client, request)) {
    t.strictSame(typesOf(response), ['function_call', 'custom_tool_call'])
    const [call, custom] = response.output
    if (call?.type !== 'function_call' || custom?.type !== 'custom_tool_call') return t.fail('other items')
    t.strictSame(JSON.parse(call.arguments), { city: 'sandbox' })
    const results = [
      { type: 'function_call_output' as const, call_id: call.call_id, output: '5 degrees' },
      { type: 'custom_tool_call_output' as const, call_id: custom.call_id, output: 'Hey' },
    ]
    const after = await client.responses.create({ ...request, input: results, previous_response_id: response.id })
    t.equal(after.output_text, 'You said: Which way is north?')
    t.equal(after.usage?.input_tokens, 4 + 2 + 1)
  }
})

t.test('built-in tools are called when they are declared', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request: Question = {
    ...question('gpt-5.4;searches=2;pages_opened=1;failed_searches=1;code_calls=3;containers=2'),
    tools: [
      { type: 'web_search' },
      { type: 'file_search', vector_store_ids: ['vs_1'] },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'image_generation', quality: 'high', size: '1024x1536', partial_images: 2 },
    ],
  }
  for (const response of await both(client, request)) {
    const searches = response.output.flatMap((item) => (item.type === 'web_search_call' ? [item] : []))
    t.strictSame(
      searches.map(({ status, action }) => [status, action.type]),
      [
        ['completed', 'search'],
        ['completed', 'search'],
        ['failed', 'search'],
        ['completed', 'open_page'],
      ],
    )
    const containers = response.output.flatMap((item) =>
      item.type === 'code_interpreter_call' ? [item.container_id] : [],
    )
    t.equal(containers.length, 3)
    t.equal(new Set(containers).size, 2)
    t.match(
      response.output.find((item) => item.type === 'image_generation_call'),
      { status: 'completed', result: String, quality: 'high', size: '1024x1536' },
    )
    t.match(
      response.output.find((item) => item.type === 'file_search_call'),
      { status: 'completed', queries: [String] },
    )
    t.match(response.tool_usage, { web_search: { num_requests: 2 } })
    t.match(response.output.at(-1), {
      content: [{ annotations: [{ type: 'url_citation' }, { type: 'url_citation' }] }],
    })
  }
  const capped = await client.responses.create({ ...request, max_tool_calls: 1 })
  t.strictSame(typesOf(capped), ['web_search_call', 'message'])
  t.strictSame(typesOf(await client.responses.create({ ...request, tool_choice: 'none' })), ['message'])
})

t.test('responses are kept, gone on from, read and deleted', async (t) => {
  const sandbox = await sandboxFor(t)
  const client = clientOf(sandbox)
  const first = await client.responses.create(question())
  const kept = await client.responses.retrieve(first.id)
  t.strictSame(kept.output, first.output)
  const second = await client.responses.create({ model: 'm', input: 'And south?', previous_response_id: first.id })
  t.equal(second.usage?.input_tokens, 4 + 6 + 2)
  const referred = await client.responses.create({
    model: 'm',
    input: [
      { type: 'item_reference', id: first.output[0]?.id ?? '' },
      { role: 'user', content: 'And south?' },
    ],
  })
  t.equal(referred.usage?.input_tokens, 6 + 2)
  await client.responses.delete(first.id)
  t.match(await errorOf(client.responses.retrieve(first.id)), { status: 404 })
  t.match(await errorOf(client.responses.delete(first.id)), { status: 404 })
  const gone = client.responses.create({ ...question(), previous_response_id: first.id })
  t.match(await errorOf(gone), { status: 400, code: 'previous_response_not_found', param: 'previous_response_id' })
  const unkept = await client.responses.create({ ...question(), store: false })
  t.match(await errorOf(client.responses.retrieve(unkept.id)), { status: 404 })
  sandbox.reset()
  t.match(await errorOf(client.responses.retrieve(second.id)), { status: 404 })
})

t.test('a response that fails, and an error in a stream', async (t) => {
  const client = clientOf(await sandboxFor(t))
  for (const response of await both(client, question('m;failed;error_message=broke'))) {
    t.match(response, { status: 'failed', error: { code: 'server_error', message: 'broke' }, output: [] })
  }
  const told = await client.responses.create(question('m;failed;prompt_tokens=10;completion_tokens=3'))
  t.match(told.usage, { input_tokens: 10, output_tokens: 3 })
  const stream = await client.responses.create({ ...question('m;stream_error=3;failed'), stream: true })
  const read = async (): Promise<void> => {
    for await (const event of stream) t.type(event.sequence_number, 'number')
  }
  t.match(await errorOf(read()), { code: null, type: 'server_error' })
})

t.test('the profile of xAI tells its tools and its charge', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const tools: unknown[] = [{ type: 'web_search' }, { type: 'x_search' }, { type: 'code_execution' }]
  const request = { model: 'grok-4.3;profile=xai;searches=3;x_searches=2;cost_ticks=123456', input: 'Hi' }
  const usage: unknown = (await client.post<Response>('/responses', { body: { ...request, tools } })).usage
  t.match(usage, {
    server_side_tool_usage_details: { web_search_calls: 3, x_search_calls: 2, code_interpreter_calls: 1 },
    num_server_side_tools_used: 6,
    cost_in_usd_ticks: 123456,
  })
})
