import t from 'tap'
import { problemsOfResponse, problemsOfResponsesEvent } from '../../reference/responses-contract.ts'
import { askResponses, eventsIn, jsonOf, sandboxFor } from '../ask.ts'

type Body = { readonly [key: string]: unknown }

const body = (directives: string, more: Body = {}): Body => ({
  model: `gpt-5.4;${directives}`,
  input: 'Which way?',
  ...more,
})

const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } }
const builtIn = [
  { type: 'web_search' },
  { type: 'code_interpreter', container: 'cntr_1' },
  { type: 'image_generation', partial_images: 1 },
]

const requests: { readonly [name: string]: Body } = {
  plain: body(''),
  'a length limit': body('output_tokens=40', { max_output_tokens: 16 }),
  'a function': body('', { tools: [look] }),
  'functions in parallel': body('tool_calls=3', { tools: [look] }),
  'a summary': body('', { reasoning: { effort: 'low', summary: 'auto' } }),
  'reasoning unseen': body('', { reasoning: { effort: 'high' } }),
  'built-in tools': body('pages_opened=1;failed_searches=1', { tools: builtIn }),
  'a refusal': body('refusal'),
  'a filter': body('finish_reason=content_filter'),
  failed: body('failed'),
  'every figure': body('prompt_tokens=9;completion_tokens=8;cached_tokens=3;cache_write_tokens=2;reasoning_tokens=4'),
  'no usage': body('no_usage'),
  unicode: body('unicode'),
}

t.test('every response is as the descriptions say', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, request] of Object.entries(requests)) {
    const response = await askResponses(sandbox, request)
    t.equal(response.status, 200, name)
    t.match(response.headers.get('x-request-id'), /^req_/)
    t.strictSame(problemsOfResponse(await jsonOf(response)), [], name)
  }
})

t.test('every event is as the descriptions say, numbered, and the end is what was streamed', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, request] of Object.entries(requests)) {
    const text = await (await askResponses(sandbox, { ...request, stream: true })).text()
    const events = eventsIn(text)
    t.strictSame(events.flatMap(problemsOfResponsesEvent), [], name)
    t.strictSame(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
    )
    const [created, begun] = events
    t.match([created.type, begun.type], ['response.created', 'response.in_progress'])
    t.match(created.response, { status: 'in_progress', output: [], usage: null })
    const end = events.at(-1)
    t.equal(end.type, `response.${end.response.status}`)
    const done = events.filter((event) => event.type === 'response.output_item.done').map((event) => event.item)
    t.strictSame(done, end.response.output, `${name}: the items`)
    const deltas = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
    const finals = events.map((event) => (event.type === 'response.output_text.done' ? event.text : ''))
    t.equal(deltas.join(''), finals.join(''))
  }
})

t.test('each item has its events in their order', async (t) => {
  const sandbox = await sandboxFor(t)
  const orders: readonly (readonly [Body, readonly string[]])[] = [
    [
      body('output_tokens=1', { tools: [{ type: 'web_search_preview' }] }),
      [
        'web_search_call.in_progress',
        'web_search_call.searching',
        'web_search_call.completed',
        'output_item.done',
        'output_item.added',
        'content_part.added',
        'output_text.delta',
        'output_text.annotation.added',
        'output_text.done',
        'content_part.done',
      ],
    ],
    [
      body('failed_searches=1;searches=0', { tools: [{ type: 'web_search' }] }),
      ['web_search_call.in_progress', 'web_search_call.searching', 'output_item.done'],
    ],
    [
      body('', { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] }),
      ['file_search_call.in_progress', 'file_search_call.searching', 'file_search_call.completed', 'output_item.done'],
    ],
    [body('refusal;output_tokens=1'), ['content_part.added', 'refusal.delta', 'refusal.done', 'content_part.done']],
    [
      body('reasoning_text;reasoning_tokens=1', { reasoning: { effort: 'low' } }),
      ['content_part.added', 'reasoning_text.delta', 'reasoning_text.done', 'content_part.done'],
    ],
    [
      body('', { tools: [{ type: 'custom', name: 'shout' }] }),
      ['custom_tool_call_input.delta', 'custom_tool_call_input.delta', 'custom_tool_call_input.done'],
    ],
  ]
  for (const [request, order] of orders) {
    const text = await (await askResponses(sandbox, { ...request, stream: true })).text()
    const names = eventsIn(text).map((event) => event.type.slice('response.'.length))
    const from = names.indexOf('output_item.added') + 1
    t.strictSame(names.slice(from, from + order.length), order)
  }
})

t.test('endings and errors inside a stream', async (t) => {
  const sandbox = await sandboxFor(t)
  const events = async (directives: string): Promise<ReturnType<typeof eventsIn>> =>
    eventsIn(await (await askResponses(sandbox, body(directives, { stream: true }))).text())
  t.equal((await events('no_done')).at(-1).type, 'response.output_item.done')
  t.equal(sandbox.calls()[0]?.usage, null)
  t.match((await events('stream_error=2;error_code=slow;error_message=no')).slice(2), [
    { type: 'error', code: 'slow', message: 'no', param: null, sequence_number: 2 },
  ])
  const [error, failed] = (await events('stream_error=5;failed;error_message=no')).slice(5)
  t.match(error, { type: 'error', sequence_number: 5, error: { type: 'server_error', message: 'no' } })
  t.match(failed, { type: 'response.failed', sequence_number: 6, response: { status: 'failed', usage: null } })
})
