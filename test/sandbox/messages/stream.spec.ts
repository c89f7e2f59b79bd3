import t from 'tap'
import { askMessages, eventsIn, received, sandboxFor } from '../ask.ts'

const question = (directives: string, more: object = {}): { readonly [key: string]: unknown } => ({
  model: `claude;${directives}`,
  max_tokens: 2_000,
  stream: true,
  messages: [{ role: 'user', content: 'Which way is north?' }],
  ...more,
})

const namesIn = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => (line.startsWith('event: ') ? [line.slice('event: '.length)] : []))

t.test('the order of events, and their names', async (t) => {
  const sandbox = await sandboxFor(t)
  const text = await (await askMessages(sandbox, question('output_tokens=2'))).text()
  t.strictSame(namesIn(text), [
    'message_start',
    'content_block_start',
    'ping',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  t.strictSame(
    eventsIn(text).map((event) => event.type),
    namesIn(text),
  )
})

t.test('every kind of block opens, goes on and stops under its index', async (t) => {
  const sandbox = await sandboxFor(t)
  const tools = [
    { type: 'web_search_20250305', name: 'web_search' },
    { name: 'look', input_schema: { type: 'object', properties: { at: { type: 'string' } } } },
  ]
  const thinking = { type: 'enabled', budget_tokens: 1_024 }
  const body = question('redacted_thinking;tool_calls=2', { tools, thinking })
  const events = eventsIn(await (await askMessages(sandbox, body)).text())
  const starts = events.filter((event) => event.type === 'content_block_start')
  t.strictSame(
    starts.map((event) => event.content_block.type),
    [
      'thinking',
      'redacted_thinking',
      'server_tool_use',
      'web_search_tool_result',
      'text',
      'text',
      'tool_use',
      'tool_use',
    ],
  )
  t.strictSame(
    starts.map((event) => event.index),
    [0, 1, 2, 3, 4, 5, 6, 7],
  )
  let open: number | null = null
  for (const event of events) {
    if (event.type === 'content_block_start') {
      t.equal(open, null)
      open = event.index
    }
    if (event.type === 'content_block_delta') t.equal(event.index, open)
    if (event.type === 'content_block_stop') open = null
  }
  const kinds = new Set(events.map((event) => event.delta?.type).filter((type) => type !== undefined))
  t.strictSame([...kinds], ['thinking_delta', 'signature_delta', 'input_json_delta', 'text_delta', 'citations_delta'])
})

t.test('usage is preliminary first and cumulative at the end', async (t) => {
  const sandbox = await sandboxFor(t)
  const figures =
    'prompt_tokens=15665;start_prompt_tokens=2037;cached_tokens=40;cache_write_tokens=30;cache_write_1h_tokens=20;completion_tokens=500;reasoning_tokens=100'
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
  const events = eventsIn(await (await askMessages(sandbox, question(figures, { tools }))).text())
  t.match(events[0].message.usage, {
    input_tokens: 2037,
    cache_creation_input_tokens: 50,
    cache_read_input_tokens: 40,
    cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 20 },
    output_tokens: 1,
  })
  t.match(events.at(-2).usage, {
    input_tokens: 15665,
    cache_creation_input_tokens: 50,
    cache_read_input_tokens: 40,
    output_tokens: 500,
    output_tokens_details: { thinking_tokens: 100 },
    server_tool_use: { web_search_requests: 1 },
  })
  t.match(sandbox.calls()[0], {
    path: '/v1/messages',
    headers: { 'x-api-key': '***', 'anthropic-version': '2023-06-01' },
    usage: { input_tokens: 15665, output_tokens: 500 },
    tokens: { prompt: 15665 + 90, cached: 40, cacheWrite: 30, cacheWrite1h: 20, output: 500, reasoning: 100 },
  })
  t.match(sandbox.totals().tokens, { prompt: 15755, cacheWrite: 30, cacheWrite1h: 20 })
})

t.test('a stream that breaks has told its beginning', async (t) => {
  const sandbox = await sandboxFor(t)
  const cut = await received(await askMessages(sandbox, question('break_after=5')))
  t.equal(cut.whole, false)
  t.equal(eventsIn(cut.text).length, 5)
  t.match(sandbox.calls()[0], { outcome: 'broken', usage: { input_tokens: 4, output_tokens: 1 } })
})

t.test('shapes and endings', async (t) => {
  const sandbox = await sandboxFor(t)
  const textFor = async (directives: string): Promise<string> =>
    (await askMessages(sandbox, question(directives))).text()
  const plain = eventsIn(await textFor('unicode')).map((event) => event.delta?.text ?? '')
  for (const shape of ['split=1', 'split=7;crlf;comment'])
    t.strictSame(
      eventsIn(await textFor(`unicode;${shape}`)).map((event) => event.delta?.text ?? ''),
      plain,
    )
  t.equal(eventsIn(await textFor('no_done')).at(-1).type, 'message_delta')
  t.match(await textFor('done'), /data: \[DONE\]\n\n$/)
  t.notOk('usage' in eventsIn(await textFor('no_usage')).at(-2))
  t.equal(eventsIn(await textFor('finish_reason=pause_turn')).at(-2).delta.stop_reason, 'pause_turn')
  t.match(eventsIn(await textFor('finish_reason=refusal')).at(-2).delta, { stop_details: { type: 'refusal' } })
})
