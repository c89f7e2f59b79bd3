import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { sandboxOrganisation, sandboxVideoKey } from '../../../sandbox/server.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { countTokens } from '../../../src/providers/dialect/tokens.ts'
import type { Question, RoutedRequest } from '../../../src/roles/dispatch.ts'
import { proxyLimits } from '../../../src/roles/proxy/limits.ts'
import { QueryPace } from '../../../src/roles/proxy/question.ts'
import { until } from '../../support/clients.ts'
import { askSandbox, type Bench, callOf, type Heard, hear, providerKey, startBench, stay } from './forwarding.ts'

const get = (responseId: string, query = ''): Question => ({ type: 'get_response', responseId, query })
const remove = (responseId: string): Question => ({ type: 'delete_response', responseId, query: '' })
const count: Question = { type: 'count_tokens' }

const questionOf = (model: string, question: Question, call: Partial<RoutedRequest> = {}): RoutedRequest =>
  callOf(model, { question, surface: question.type === 'count_tokens' ? 'messages' : 'responses', ...call })

const put = (bench: Bench, model: string, question: Question, call: Partial<RoutedRequest> = {}): Promise<Heard> =>
  hear(bench.dispatch(questionOf(model, question, call), stay()))

/** Whatever is asked, nothing of it enters the log, and nothing is left behind. */
const leftNothing = async (t: Test, bench: Bench): Promise<void> => {
  await bench.inFlight.idle()
  t.equal(bench.log.appended, 0, 'nothing in the log')
}

const system = 'Be brief.'

t.test('Anthropic counts for its own models', async (t) => {
  const bench = await startBench(t)
  const body = { system, max_tokens: 5, temperature: 1 }
  const { head, text, error } = await put(bench, 'anthropic/claude-sonnet-4-5;prompt_tokens=77', count, { body })
  t.equal(error, null)
  t.strictSame(head, {
    type: 'head',
    contentType: 'application/json',
    level: 0,
    model: 'anthropic/claude-sonnet-4-5',
  })
  t.equal(text, '{"input_tokens":77}')
  const [call] = bench.sandbox.calls()
  t.match(call, { path: '/v1/messages/count_tokens', body: { system, messages: [{ role: 'user' }] } })
  await leftNothing(t, bench)
})

t.test('a tokenizer counts for the models of others, and nobody is called', async (t) => {
  for (const model of ['openai/gpt-4o', 'xai/grok-4', 'google/gemini-3.7-flash']) {
    const bench = await startBench(t)
    const { text, error } = await put(bench, model, count, { body: { system } })
    t.equal(error, null)
    // Two messages of three tokens' wrapping, and three to prime.
    const expected = (await countTokens(`${system}userone two three`)) + 2 * 3 + 3
    t.same(JSON.parse(text), { input_tokens: expected })
    t.equal(bench.sandbox.calls().length, 0)
    await leftNothing(t, bench)
  }
})

t.test('what cannot be counted is refused', async (t) => {
  const file = { type: 'document', source: { type: 'file', file_id: 'file_1' } }
  const messages = [{ role: 'user', content: [file] }]
  for (const model of ['anthropic/claude-sonnet-4-5', 'openai/gpt-4o']) {
    const bench = await startBench(t)
    const { head, error } = await put(bench, model, count, { body: { messages } })
    t.equal(head, null)
    t.match(error, { status: 400, code: 'unsupported_parameter', param: /^messages\[0\]\.content\[0\]\.source/ })
    await leftNothing(t, bench)
  }
})

/** A response that the sandbox keeps. */
const stored = async (bench: Bench): Promise<JsonObject> => {
  const response = await fetch(`${bench.sandbox.url}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${providerKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', input: 'one two three' }),
  })
  return (await response.json()) as JsonObject
}

t.test('a kept response is given out as it is kept, and deleted', async (t) => {
  for (const provider of ['openai', 'xai']) {
    const bench = await startBench(t)
    const response = await stored(bench)
    const id = String(response['id'])
    const { head, text } = await put(bench, `${provider}/m`, get(id, 'include=reasoning.encrypted_content'))
    t.match(head, { contentType: 'application/json', level: 0, model: `${provider}/m` })
    t.same(JSON.parse(text), response)
    const deleted = await put(bench, `${provider}/m`, remove(id))
    t.match(JSON.parse(deleted.text), { id, deleted: true })
    for (const question of [get(id), remove(id)]) {
      const { head: none, error } = await put(bench, `${provider}/m`, question)
      t.equal(none, null)
      t.match(error, { status: 404, code: 'not_found', failedAt: { level: 0 } })
    }
    const calls = bench.sandbox.calls().map(({ method, path }) => `${method} ${path}`)
    const path = `/v1/responses/${id}`
    const asked = [`GET ${path}?include=reasoning.encrypted_content`, `DELETE ${path}`, `GET ${path}`, `DELETE ${path}`]
    t.same(calls.slice(1), asked)
    await leftNothing(t, bench)
  }
})

t.test('other dialects keep no responses', async (t) => {
  for (const provider of ['anthropic', 'google', 'gemini']) {
    const bench = await startBench(t)
    t.match((await put(bench, `${provider}/m`, get('resp_1'))).error, { status: 501, code: 'not_implemented' })
    t.equal(bench.sandbox.calls().length, 0)
    await leftNothing(t, bench)
  }
})

/** An upstream that says what it likes. */
const upstream = async (t: Test, answer: RequestListener): Promise<Bench> => {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return startBench(t, { baseUrl: `http://127.0.0.1:${address.port}/v1`, questionMs: 1_500 })
}

const saying =
  (status: number, body: string): RequestListener =>
  (request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }

const leak = JSON.stringify({
  error: { message: `No, ${providerKey} of ${sandboxOrganisation}`, type: 'x', code: null },
})

t.test('failures: one attempt, no other candidate', async (t) => {
  const table: readonly [Question, status: number, body: string, expected: object][] = [
    [get('r'), 404, leak, { status: 404, code: 'not_found', message: /^No, \[redacted\]/ }],
    [get('r'), 404, '<html>', { status: 404, code: 'not_found' }],
    [get('r'), 400, leak, { status: 502, code: 'upstream_error' }],
    [get('r'), 401, leak, { status: 502, code: 'upstream_error' }],
    [get('r'), 429, leak, { status: 502, code: 'upstream_error' }],
    [remove('r'), 500, leak, { status: 502, code: 'upstream_error' }],
    [get('r'), 504, '', { status: 502, code: 'upstream_timeout' }],
    [get('r'), 200, '<html>', { status: 502, code: 'upstream_error' }],
    [get('r'), 200, '[]', { status: 502, code: 'upstream_error' }],
    [count, 400, leak, { status: 400, code: 'invalid_request', message: /^No, \[redacted\]/ }],
    [count, 401, leak, { status: 502, code: 'upstream_error' }],
    [count, 429, leak, { status: 429, code: 'rate_limit_exceeded' }],
    [count, 529, leak, { status: 502, code: 'upstream_error' }],
    [count, 200, '{}', { status: 502, code: 'upstream_error' }],
  ]
  for (const [question, status, body, expected] of table) {
    let requests = 0
    const bench = await upstream(t, (request, response) => {
      requests += 1
      saying(status, body)(request, response)
    })
    const provider = question.type === 'count_tokens' ? 'anthropic' : 'openai'
    const call = questionOf(`${provider}/m`, question)
    const candidates = [...call.candidates, ...call.candidates]
    const { head, error } = await hear(bench.dispatch({ ...call, candidates, chain: true }, stay()))
    t.equal(head, null)
    t.match(error, expected, `${question.type} ${status} ${body}`)
    t.notMatch(error?.message, providerKey)
    t.notMatch(error?.message, sandboxOrganisation)
    t.equal(requests, 1)
    await leftNothing(t, bench)
  }
})

t.test('where an upstream of the format has no count, ours is the answer', async (t) => {
  for (const status of [404, 405, 501])
    for (const body of [leak, '<html>']) {
      const bench = await upstream(t, saying(status, body))
      const tools = [{ name: 'f', input_schema: { type: 'object' } }]
      const messages = [
        { role: 'user', content: 'one two three' },
        { role: 'system', content: [{ type: 'text', text: 'four' }] },
      ]
      const { head, text, error } = await put(bench, 'anthropic/m', count, { body: { system, tools, messages } })
      t.equal(error, null)
      t.match(head, { contentType: 'application/json', model: 'anthropic/m' })
      const expected = (await countTokens(`${system}one two threefour${JSON.stringify(tools)}`)) + 2 * 3
      t.same(JSON.parse(text), { input_tokens: expected }, `${status} ${body}`)
      await leftNothing(t, bench)
    }
})

t.test('a provider that is not configured', async (t) => {
  const bench = await startBench(t)
  t.match((await put(bench, 'nobody/m', get('r'))).error, { status: 502, code: 'upstream_error' })
  await leftNothing(t, bench)
})

/** An upstream that never ends what it says; resolves with a request once it is there. */
const stalling = async (t: Test, head: string): Promise<{ bench: Bench; asked: Promise<IncomingMessage> }> => {
  const asked = Promise.withResolvers<IncomingMessage>()
  const bench = await upstream(t, (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(head)
    asked.resolve(request)
  })
  return { bench, asked: asked.promise }
}

t.test('time is bounded, by the question’s own limit and by the deadline of the call', async (t) => {
  for (const [head, deadlineMs] of [
    ['{"id":', 60_000],
    ['{"id":', 50],
  ] as const) {
    const { bench } = await stalling(t, head)
    const { error } = await put(bench, 'openai/m', get('r'), { deadlineMs: Date.now() + deadlineMs })
    t.match(error, { status: 502, code: 'upstream_timeout' })
    await leftNothing(t, bench)
  }
})

t.test('a count of our own is cut as well', async (t) => {
  const bench = await startBench(t)
  const body = { system: 'word '.repeat(50_000) }
  const { error } = await put(bench, 'openai/gpt-4o', count, { body, deadlineMs: Date.now() })
  t.match(error, { status: 502, code: 'upstream_timeout' })
  await leftNothing(t, bench)
})

t.test('a client that leaves, and a proxy that stops, cut the question', async (t) => {
  for (const why of ['client_gone', 'shutdown']) {
    const { bench, asked } = await stalling(t, '{')
    const client = new AbortController()
    const heard = hear(bench.dispatch(questionOf('openai/m', get('r')), client.signal))
    const request = await asked
    const closed = new Promise((resolve) => request.socket.once('close', resolve))
    if (why === 'client_gone') client.abort()
    else bench.inFlight.shutDown()
    t.match(
      (await heard).error,
      why === 'client_gone' ? { status: 499 } : { status: 503, code: 'no_available_channel' },
    )
    await closed
    await leftNothing(t, bench)
  }
})

t.test('a client that has left is asked nothing for', async (t) => {
  const bench = await startBench(t)
  const { error } = await hear(bench.dispatch(questionOf('openai/gpt-4o', count), AbortSignal.abort()))
  t.match(error, { status: 499 })
  await leftNothing(t, bench)
})

t.test('a call without a question is answered as ever', async (t) => {
  const bench = await startBench(t)
  const { text } = await hear(bench.dispatch(callOf('openai/gpt-4o-mini'), stay()))
  t.equal(JSON.parse(text).choices.length, JSON.parse(await askSandbox(bench, 'gpt-4o-mini')).choices.length)
  t.equal(bench.log.events.length, 1)
})

const vendorUrl = (bench: Bench): string => `${bench.sandbox.url}/videos/text2video`

/** A task of the sandbox vendor, and its id there. */
const videoTask = async (bench: Bench, directives: string): Promise<string> => {
  const response = await fetch(vendorUrl(bench), {
    method: 'POST',
    headers: { authorization: `Bearer ${sandboxVideoKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model_name: 'v3', prompt: `A cat. [[${directives}]]` }),
  })
  return ((await response.json()) as { data: { task_id: string } }).data.task_id
}

const getVideo = (vendorTaskId: string): Question => ({ type: 'get_video_task', kind: 'text2video', vendorTaskId })

const putVideo = (bench: Bench, vendorTaskId: string, provider = 'vv'): Promise<Heard> =>
  put(bench, `${provider}/m`, getVideo(vendorTaskId), { surface: 'video', body: {} })

t.test('the results of a video task are told as the vendor signs them now', async (t) => {
  const bench = await startBench(t)
  const id = await videoTask(bench, 'queue_ms=0;run_ms=0;videos=2;url_ms=5000')
  const { text, error } = await putVideo(bench, id)
  t.equal(error, null)
  const { results } = JSON.parse(text)
  t.equal(results.length, 2)
  for (const { url } of results) t.equal((await fetch(url)).headers.get('content-type'), 'video/mp4')
  await leftNothing(t, bench)
})

t.test('a video task that has no results to tell of', async (t) => {
  const rows: readonly (readonly [string, object])[] = [
    ['never', { code: 'upstream_error' }],
    ['queue_ms=0;run_ms=0;failed', { code: 'upstream_error' }],
    ['queue_ms=0;run_ms=0;videos=0', { code: 'upstream_error' }],
    ['queue_ms=0;run_ms=0]] [[code=1302;on=query', { code: 'upstream_error' }],
    ['queue_ms=0;run_ms=0]] [[html;on=query', { code: 'upstream_error' }],
    ['queue_ms=0;run_ms=0]] [[other_task;on=query', { code: 'upstream_error' }],
  ]
  for (const [directives, expected] of rows) {
    const bench = await startBench(t)
    const { head, error } = await putVideo(bench, await videoTask(bench, directives))
    t.equal(head, null)
    t.match(error, expected, directives)
    await leftNothing(t, bench)
  }
  const bench = await startBench(t)
  t.match((await putVideo(bench, 'none')).error, { code: 'task_not_exist' })
  t.match((await putVideo(bench, 'none', 'openai')).error, { code: 'upstream_error' })
})

t.test('a vendor that hangs is cut with its reader', async (t) => {
  const bench = await startBench(t)
  const id = await videoTask(bench, 'queue_ms=0;run_ms=0]] [[hang;on=query')
  const client = new AbortController()
  const call = questionOf('vv/m', getVideo(id), { surface: 'video', body: {} })
  const heard = hear(bench.dispatch(call, client.signal))
  await until(() => bench.sandbox.totals().open === 1)
  client.abort()
  t.match((await heard).error, { status: 499 })
  await until(() => bench.sandbox.totals().open === 0)
  await leftNothing(t, bench)
})

t.test('a vendor is asked only so often', async (t) => {
  const bench = await startBench(t)
  const id = await videoTask(bench, 'queue_ms=0;run_ms=0')
  const asked = proxyLimits.vendorQuestionsMax + 5
  const heard = await Promise.all(Array.from({ length: asked }, () => putVideo(bench, id)))
  const refused = heard.filter(({ error }) => error?.code === 'rate_limit_exceeded')
  t.ok(refused.length > 0 && refused.length <= 5, `${refused.length} were refused`)
})

t.test('the workspaces that ask share what a vendor may be asked', async (t) => {
  let nowMs = 1_000_000
  const { vendorQuestionsMax, vendorQuestionsMs } = proxyLimits
  const pace = new QueryPace(() => nowMs)
  const askedBy = (workspaceId: string, times: number): number =>
    Array.from({ length: times }, () => pace.next('vv', workspaceId)).filter(Boolean).length
  t.equal(askedBy('hog', 50), vendorQuestionsMax)
  t.equal(askedBy('other', 1), 0)
  nowMs += vendorQuestionsMs + 100
  const hogs = askedBy('hog', 50)
  t.ok(hogs < vendorQuestionsMax, `${hogs}: the rest is kept for the other`)
  t.equal(askedBy('other', 2), 2)
  t.ok(pace.next('another vendor', 'hog'))
  const quarter = new QueryPace(() => nowMs, 4)
  let asked = 0
  for (const startedMs = nowMs; nowMs < startedMs + 60_000; nowMs += 100) asked += Number(quarter.next('vv', 'acme'))
  const part = (60_000 / vendorQuestionsMs) * (vendorQuestionsMax / 4)
  t.ok(asked > 0.8 * part && asked <= part + 3, `${asked} of ${part}: one process of four`)
})
