import t from 'tap'
import {
  type Directives,
  noDirectives,
  parseDirectives,
  plainModel,
  withoutFaults,
} from '../../../sandbox/answers/directives.ts'
import { sandboxOrganisation } from '../../../sandbox/server.ts'
import {
  ask,
  chunksFrom,
  chunksOf,
  contentOf,
  dataLines,
  directed,
  jsonOf,
  question,
  received,
  sandboxFor,
  streamed,
  until,
} from '../ask.ts'

t.test('reading', async (t) => {
  const read = (model: string, override?: unknown): Directives => parseDirectives(model, override)
  t.equal(read('gpt-4o'), noDirectives)
  t.equal(read('gpt-4o;'), noDirectives)
  t.equal(plainModel('a/b;status=500'), 'a/b')
  t.strictSame(read('m;status=500; first=2 ;hang'), { status: 500, first: 2, hang: true })
  t.strictSame(read('m;status=500;crlf=1', 'status=429;crlf=0'), { status: 429, crlf: false })
  t.strictSame(read('m;status=503;error_message=a=b, c'), { status: 503, error_message: 'a=b, c' })
  t.strictSame(withoutFaults(read('m;status=500;first=1;delay_ms=5;split=3')), { split: 3 })
})

t.test('what is malformed is told', async (t) => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['nonsense=1', /no such directive/],
    ['constructor=1', /no such directive/],
    ['status=200', /status takes a whole number from 400 to 599/],
    ['status', /status takes/],
    ['crlf=yes', /crlf takes 1 or 0/],
    ['profile=other', /openai or xai or gemini/],
    ['crlf=1;crlf=1', /given twice/],
    ['leak=text', /needs one of status/],
    ['first=2', /needs one of/],
    ['split=0', /split takes/],
  ]
  const sandbox = await sandboxFor(t)
  for (const [directives, message] of wrong) {
    const response = await ask(sandbox, directed(directives))
    t.equal(response.status, 400)
    t.match((await jsonOf(response)).error.message, message)
  }
  t.equal((await ask(sandbox, { ...question(), metadata: { sandbox: 5 } })).status, 400)
})

t.test('status, retry_after, error_code, error_message, leak', async (t) => {
  const sandbox = await sandboxFor(t)
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT'
  const response = await ask(
    sandbox,
    directed(`status=429;retry_after=${date};error_code=slow;error_message=Too fast;leak=see`),
  )
  t.equal(response.status, 429)
  t.equal(response.headers.get('retry-after'), date)
  const { error } = await jsonOf(response)
  t.equal(error.code, 'slow')
  const host = new URL(sandbox.url).host
  t.equal(error.message, `Too fast see: API key sk-test, organization ${sandboxOrganisation}, host ${host}.`)
})

t.test('metadata.sandbox wins, and first counts by model name', async (t) => {
  const sandbox = await sandboxFor(t)
  const statuses = async (body: { readonly [key: string]: unknown }): Promise<number> =>
    (await ask(sandbox, body)).status
  t.equal(await statuses(directed('status=500', { metadata: { sandbox: 'status=503' } })), 503)
  const twice = directed('status=500;first=2')
  t.strictSame([await statuses(twice), await statuses(twice), await statuses(twice)], [500, 500, 200])
  t.equal(await statuses(directed('status=502;first=1')), 502)
  sandbox.reset()
  t.equal(await statuses(twice), 500)
})

t.test('html, not_json, error_200', async (t) => {
  const sandbox = await sandboxFor(t)
  const page = await ask(sandbox, directed('html=1'))
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.match(await page.text(), /<html>/)
  t.equal((await ask(sandbox, directed('html=1;status=502'))).status, 502)
  await t.rejects((await ask(sandbox, directed('not_json=1'))).json(), SyntaxError)
  const stream = await ask(sandbox, directed('not_json=1', streamed))
  t.match(stream.headers.get('content-type'), /^text\/event-stream/)
  const [data = ''] = dataLines(await stream.text())
  t.throws(() => JSON.parse(data), SyntaxError)
  const error = await ask(sandbox, directed('error_200=1'))
  t.equal(error.status, 200)
  t.match(await error.json(), { error: { type: 'server_error' } })
})

t.test('delays', async (t) => {
  const sandbox = await sandboxFor(t)
  const from = performance.now()
  const late = await ask(sandbox, directed('delay_ms=60'))
  t.ok(performance.now() - from >= 59)
  await late.text()
  const askedAt = performance.now()
  const headed = await ask(sandbox, directed('first_chunk_delay_ms=500;chunk_delay_ms=5;output_tokens=8', streamed))
  t.equal(sandbox.calls().at(-1)?.chunksWritten, 0, 'the head comes at once')
  await headed.text()
  t.ok(performance.now() - askedAt >= 499 + 10 * 4, 'the body comes later than the head')
})

t.test('break_after', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const chunks of [0, 1, 3]) {
    const cut = await received(await ask(sandbox, directed(`break_after=${chunks}`, streamed)))
    t.equal(cut.whole, false)
    t.equal(chunksOf(cut.text).length, chunks)
  }
  const nothing = await received(await ask(sandbox, directed('break_after=0')))
  t.strictSame([nothing.whole, nothing.text], [false, ''])
  const half = await received(await ask(sandbox, directed('break_after=1')))
  t.equal(half.whole, false)
  t.match(half.text, /^\{"id":/)
  t.ok(sandbox.calls().every((call) => call.outcome === 'broken' && call.usage === null))
  t.strictSame(
    sandbox.calls().map((call) => call.chunksWritten),
    [0, 1, 3, 0, 1],
  )
})

t.test('hang and hang_after end when the client goes', async (t) => {
  const sandbox = await sandboxFor(t)
  const gone = new AbortController()
  const silent = ask(sandbox, directed('hang=1'), gone.signal)
  await until(() => sandbox.calls().length === 1)
  t.equal(sandbox.calls()[0]?.outcome, 'open')
  gone.abort()
  await t.rejects(silent)
  await until(() => sandbox.calls()[0]?.outcome === 'cancelled')
  t.equal(sandbox.calls()[0]?.status, null)
  const later = new AbortController()
  const response = await ask(sandbox, directed('hang_after=2', streamed), later.signal)
  const reading = received(response)
  await until(() => sandbox.calls()[1]?.chunksWritten === 2)
  later.abort()
  t.equal((await reading).whole, false)
  await until(() => sandbox.calls()[1]?.outcome === 'cancelled')
})

t.test('split cuts inside characters, and crlf and comment keep the events', async (t) => {
  const sandbox = await sandboxFor(t)
  const plain = contentOf(await chunksFrom(sandbox, directed('unicode=1')))
  t.match(plain, /日|好/)
  for (const bytes of [1, 3, 7]) {
    const cut = await received(await ask(sandbox, directed(`unicode=1;split=${bytes};crlf=1;comment=1`, streamed)))
    t.equal(contentOf(chunksOf(cut.text)), plain)
    t.match(cut.text, /^: sandbox\r\n\r\ndata: /)
    t.notMatch(cut.text, /[^\r]\n/)
    t.equal(dataLines(cut.text).at(-1), '[DONE]')
  }
  const whole = await received(await ask(sandbox, directed('split=7;unicode=1')))
  t.equal(JSON.parse(whole.text).choices[0].message.content, plain)
})

t.test('no_done, stream_error', async (t) => {
  const sandbox = await sandboxFor(t)
  const ended = await received(await ask(sandbox, directed('no_done=1', streamed)))
  t.ok(ended.whole)
  t.notMatch(ended.text, /DONE/)
  const chunks = await chunksFrom(sandbox, directed('stream_error=2;error_message=broke down;leak=by'))
  t.equal(chunks.length, 3)
  t.match(chunks[2]?.error, { message: /^broke down by: API key sk-test/, type: 'server_error' })
})

t.test('figures of usage', async (t) => {
  const sandbox = await sandboxFor(t)
  const usage = async (directives: string): Promise<unknown> => (await jsonOf(ask(sandbox, directed(directives)))).usage
  t.match(
    await usage('prompt_tokens=100;completion_tokens=50;cached_tokens=40;cache_write_tokens=10;reasoning_tokens=30'),
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 30 },
    },
  )
  t.match(await usage('audio_in_tokens=20;image_tokens=30;audio_out_tokens=40'), {
    prompt_tokens: 4 + 50,
    completion_tokens: 40,
    total_tokens: 94,
    prompt_tokens_details: { audio_tokens: 20, image_tokens: 30 },
    completion_tokens_details: { audio_tokens: 40 },
  })
  t.match(await usage('cached_tokens=500'), { prompt_tokens: 500, prompt_tokens_details: { cached_tokens: 500 } })
  t.match(await usage('output_tokens=33'), { completion_tokens: 33 })
  t.equal(await usage('no_usage=1'), undefined)
})

t.test('profile xai: the completion leaves reasoning out', async (t) => {
  const sandbox = await sandboxFor(t)
  const body = directed('profile=xai;prompt_tokens=12;completion_tokens=1;reasoning_tokens=290')
  const answer = await jsonOf(ask(sandbox, body))
  t.match(answer.usage, { prompt_tokens: 12, completion_tokens: 1, total_tokens: 303 })
  t.type(answer.choices[0].message.reasoning_content, 'string')
  t.match(sandbox.calls()[0]?.tokens, { prompt: 12, output: 291, reasoning: 290 })
  const chunks = await chunksFrom(sandbox, body)
  t.ok(chunks.some((chunk) => chunk.choices[0]?.delta['reasoning_content'] !== undefined))
  t.match(chunks.at(-1)?.usage, { total_tokens: 303 })
})

t.test('profile gemini: usage grows on every chunk, thinking only in the total', async (t) => {
  const sandbox = await sandboxFor(t)
  const chunks = await chunksFrom(sandbox, directed('profile=gemini;output_tokens=5', { reasoning_effort: 'low' }))
  t.ok(chunks.every((chunk) => chunk.choices.length === 1))
  const completions = chunks.map((chunk) => chunk.usage?.['completion_tokens'])
  t.strictSame(completions, [0, 1, 2, 3, 4, 5, 5])
  t.strictSame(chunks.at(-1)?.usage, { prompt_tokens: 4, completion_tokens: 5, total_tokens: 4 + 5 + 16 })
})

t.test('usage_with_choices, no_usage in a stream, usage null before the usage chunk', async (t) => {
  const sandbox = await sandboxFor(t)
  const plain = await chunksFrom(sandbox, question())
  t.strictSame(plain.at(-1)?.choices, [])
  t.ok(plain.slice(0, -1).every((chunk) => chunk.usage === null))
  const together = await chunksFrom(sandbox, directed('usage_with_choices=1'))
  t.equal(together.at(-1)?.choices[0]?.finish_reason, 'stop')
  t.match(together.at(-1)?.usage, { prompt_tokens: 4 })
  const without = await chunksFrom(sandbox, directed('no_usage=1'))
  t.ok(without.every((chunk) => !('usage' in chunk)))
})

t.test('cookie, service_tier, big_bytes', async (t) => {
  const sandbox = await sandboxFor(t)
  const response = await ask(sandbox, directed('cookie=1;service_tier=flex'))
  t.equal(response.headers.get('openai-organization'), sandboxOrganisation)
  t.equal(response.headers.getSetCookie().length, 2)
  t.ok(response.headers.has('x-ratelimit-remaining-tokens'))
  t.equal((await jsonOf(response)).service_tier, 'flex')
  for (const directives of ['big_bytes=1000001', 'big_bytes=1000001;unicode=1']) {
    const whole = await jsonOf(ask(sandbox, directed(directives, { max_tokens: 5 })))
    t.equal(Buffer.byteLength(whole.choices[0].message.content), 1_000_001)
    t.equal(Buffer.byteLength(contentOf(await chunksFrom(sandbox, directed(directives)))), 1_000_001)
  }
})

t.test('tool_calls, refusal and finish_reason in chat', async (t) => {
  const sandbox = await sandboxFor(t)
  const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
  const called = await jsonOf(ask(sandbox, directed('tool_calls=3', { tools: [look] })))
  t.equal(called.choices[0].message.tool_calls.length, 3)
  const refused = await jsonOf(ask(sandbox, directed('refusal')))
  t.match(refused.choices[0].message, { content: null, refusal: 'You said: What is the answer?' })
  const chunks = await chunksFrom(sandbox, directed('refusal;finish_reason=content_filter'))
  t.equal(chunks.map((chunk) => chunk.choices[0]?.delta['refusal'] ?? '').join(''), 'You said: What is the answer?')
  t.ok(chunks.some((chunk) => chunk.choices[0]?.finish_reason === 'content_filter'))
})
