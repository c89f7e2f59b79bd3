import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import type { Sandbox } from '../../../sandbox/server.ts'
import { errorOf, sandboxFor } from '../ask.ts'

const clientOf = (sandbox: Sandbox): Anthropic =>
  new Anthropic({ apiKey: 'sk-test', baseURL: new URL('/', sandbox.url).href, maxRetries: 0 })

const question = (model = 'claude-haiku-4-5'): Anthropic.MessageCreateParamsNonStreaming => ({
  model,
  max_tokens: 2_000,
  messages: [{ role: 'user', content: 'Which way is north?' }],
})

const weather: Anthropic.Tool = {
  name: 'weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
}
const search: Anthropic.WebSearchTool20250305 = { type: 'web_search_20250305', name: 'web_search' }

const textOf = (message: Anthropic.Message): string =>
  message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')

const both = async (
  client: Anthropic,
  request: Anthropic.MessageCreateParamsNonStreaming,
): Promise<readonly Anthropic.Message[]> => [
  await client.messages.create(request),
  await client.messages.stream(request).finalMessage(),
]

t.test('text, whole and streamed', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const message of await both(clientOf(sandbox), question())) {
    t.equal(textOf(message), 'You said: Which way is north?')
    t.match(message, { role: 'assistant', stop_reason: 'end_turn', model: 'claude-haiku-4-5', stop_sequence: null })
    t.match(message.usage, { input_tokens: 4, output_tokens: 6, cache_read_input_tokens: 0 })
  }
  t.match(sandbox.totals(), { calls: 2, completed: 2, tokens: { prompt: 8, output: 12 } })
})

t.test('a length limit and a stop sequence', async (t) => {
  const client = clientOf(await sandboxFor(t))
  for (const message of await both(client, { ...question(), max_tokens: 3 })) {
    t.equal(textOf(message), 'You said: Which')
    t.equal(message.stop_reason, 'max_tokens')
  }
  for (const message of await both(client, { ...question(), stop_sequences: ['north', ' is'] }))
    t.match(message, { stop_reason: 'stop_sequence', stop_sequence: ' is', content: [{ text: 'You said: Which way' }] })
})

t.test('tools: text comes first unless a tool is forced; calls in parallel; then the answer', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request = { ...question('claude;tool_calls=2'), tools: [weather] }
  for (const message of await both(client, request)) {
    t.equal(message.stop_reason, 'tool_use')
    t.strictSame(
      message.content.map((block) => block.type),
      ['text', 'tool_use', 'tool_use'],
    )
    const [, call] = message.content
    t.match(call, { name: 'weather', input: { city: 'sandbox', days: 1 } })
    const results = message.content.flatMap((block) =>
      block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: '5 degrees' }] : [],
    )
    const turns = [
      ...request.messages,
      { role: 'assistant' as const, content: message.content },
      { role: 'user' as const, content: results },
    ]
    const after = await client.messages.create({ ...request, messages: turns })
    t.equal(textOf(after), 'You said: Which way is north?')
  }
  const forced = await client.messages.create({ ...question(), tools: [weather], tool_choice: { type: 'any' } })
  t.strictSame(
    forced.content.map((block) => block.type),
    ['tool_use'],
  )
  const none = await client.messages.create({ ...question(), tools: [weather], tool_choice: { type: 'none' } })
  t.equal(none.stop_reason, 'end_turn')
})

t.test('thinking goes out signed and is taken back', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request = {
    ...question('claude;redacted_thinking'),
    thinking: { type: 'enabled' as const, budget_tokens: 1_024 },
    tools: [weather],
  }
  for (const message of await both(client, request)) {
    const [thinking, redacted, , call] = message.content
    t.match(thinking, { type: 'thinking', thinking: /^You said: The sandbox thinks/, signature: /^.{44}$/ })
    t.match(redacted, { type: 'redacted_thinking', data: String })
    t.match(message.usage.output_tokens_details, { thinking_tokens: 16 })
    const id = call?.type === 'tool_use' ? call.id : ''
    const result = { role: 'user' as const, content: [{ type: 'tool_result' as const, tool_use_id: id }] }
    const turns = [...request.messages, { role: 'assistant' as const, content: message.content }, result]
    t.equal((await client.messages.create({ ...request, messages: turns })).stop_reason, 'end_turn')
    const dropped = message.content.filter((block) => block.type === 'tool_use')
    const without = [...request.messages, { role: 'assistant' as const, content: dropped }, result]
    t.match(await errorOf(client.messages.create({ ...request, messages: without })), {
      status: 400,
      message: /must start with a thinking block/,
    })
  }
})

t.test('web search: queries, results, citations and what is billed', async (t) => {
  const client = clientOf(await sandboxFor(t))
  for (const message of await both(client, { ...question('claude;searches=2;failed_searches=1'), tools: [search] })) {
    const types = message.content.map((block) => block.type)
    t.strictSame(types.slice(0, 2), ['server_tool_use', 'web_search_tool_result'])
    t.equal(types.filter((type) => type === 'server_tool_use').length, 3)
    t.match(message.content[5], { content: { type: 'web_search_tool_result_error', error_code: 'unavailable' } })
    t.match(message.content[0], { name: 'web_search', input: { query: 'Which way is north? 1' } })
    t.match(message.content[1], { content: [{ type: 'web_search_result', url: 'https://example.com/1' }] })
    t.match(message.content.at(-1), {
      citations: [{ type: 'web_search_result_location', url: 'https://example.com/1' }, { title: 'Source 2' }],
    })
    t.match(message.usage.server_tool_use, { web_search_requests: 2 })
    t.equal(message.usage.input_tokens, 4 + 2 * 50)
    t.equal(textOf(message), 'You said: Which way is north?')
  }
  const capped = await client.messages.create({ ...question('c;searches=5'), tools: [{ ...search, max_uses: 2 }] })
  t.match(capped.usage.server_tool_use, { web_search_requests: 2 })
})

t.test('a JSON schema', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const schema = { type: 'object', properties: { sure: { type: 'boolean' } }, additionalProperties: false }
  const format = { type: 'json_schema' as const, schema }
  const message = await client.messages.create({ ...question(), output_config: { format } })
  t.strictSame(JSON.parse(textOf(message)), { sure: true })
})

t.test('tokens are counted', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const { model, messages } = question()
  t.strictSame(await client.messages.countTokens({ model, messages, system: 'Be brief.' }), { input_tokens: 6 })
  t.strictSame(await client.messages.countTokens({ model: 'c;prompt_tokens=77', messages }), { input_tokens: 77 })
})

t.test('errors have the classes and the words of the SDK', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const classes = [
    [400, Anthropic.BadRequestError, 'invalid_request_error'],
    [401, Anthropic.AuthenticationError, 'authentication_error'],
    [402, Anthropic.APIError, 'billing_error'],
    [403, Anthropic.PermissionDeniedError, 'permission_error'],
    [404, Anthropic.NotFoundError, 'not_found_error'],
    [413, Anthropic.APIError, 'request_too_large'],
    [429, Anthropic.RateLimitError, 'rate_limit_error'],
    [500, Anthropic.InternalServerError, 'api_error'],
    [504, Anthropic.APIError, 'timeout_error'],
    [529, Anthropic.APIError, 'overloaded_error'],
  ] as const
  for (const [status, errorClass, type] of classes) {
    const error = await errorOf(client.messages.create(question(`claude;status=${status}`)))
    t.ok(error instanceof errorClass)
    t.match(error, { status, error: { type: 'error', error: { type }, request_id: /^req_/ }, requestID: /^req_/ })
  }
  const named = await errorOf(client.messages.create(question('claude;status=400;error_code=billing_error')))
  t.match(named, { error: { error: { type: 'billing_error' } } })
})

t.test('an error in a stream', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const error = await errorOf(client.messages.stream(question('c;stream_error=4;error_message=busy')).finalMessage())
  t.ok(error instanceof Anthropic.APIError)
  t.match(error, { error: { type: 'error', error: { type: 'overloaded_error', message: 'busy' } } })
})
