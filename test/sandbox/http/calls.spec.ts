import t from 'tap'
import { ask, directed, jsonOf, question, sandboxFor, streamed, until } from '../ask.ts'

t.test('a call is recorded with what came, what was told and how it ended', async (t) => {
  const sandbox = await sandboxFor(t)
  const body = directed('output_tokens=2;split=5', { ...streamed, temperature: 0.5 })
  await (await ask(sandbox, body)).text()
  const [call] = sandbox.calls()
  t.match(call, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer ***' },
    upstreamModel: 'gpt-4o-mini;output_tokens=2;split=5',
    directives: { output_tokens: 2, split: 5 },
    status: 200,
    outcome: 'completed',
    usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
    chunksWritten: 1 + 2 + 1 + 1 + 1,
  })
  t.strictSame(call?.body, body)
})

t.test('a client that goes in the middle of a stream', async (t) => {
  const sandbox = await sandboxFor(t)
  const gone = new AbortController()
  const response = await ask(sandbox, directed('chunk_delay_ms=20;output_tokens=1000', streamed), gone.signal)
  await response.body?.getReader().read()
  gone.abort()
  await until(() => sandbox.calls()[0]?.outcome === 'cancelled')
  t.match(sandbox.calls()[0], { usage: null, tokens: null })
  t.match(sandbox.totals(), { calls: 1, cancelled: 1, open: 0, tokens: { output: 0 } })
})

t.test('a client that reads slowly holds the stream back, and one that never reads ends with it', async (t) => {
  const sandbox = await sandboxFor(t)
  const gone = new AbortController()
  await ask(sandbox, directed('big_bytes=60000000', streamed), gone.signal)
  await until(() => (sandbox.calls()[0]?.chunksWritten ?? 0) > 10)
  t.equal(sandbox.calls()[0]?.outcome, 'open')
  gone.abort()
  await until(() => sandbox.calls()[0]?.outcome === 'cancelled')
})

t.test('totals, calls and reset over HTTP', async (t) => {
  const sandbox = await sandboxFor(t)
  const control = new URL('/sandbox/', sandbox.url)
  const get = (path: string): ReturnType<typeof jsonOf> => jsonOf(fetch(new URL(path, control)))
  await (await ask(sandbox, question())).text()
  await (await ask(sandbox, question())).text()
  await (await ask(sandbox, directed('status=500'))).text()
  t.match(await get('totals'), { calls: 3, completed: 3, failed: 1, open: 0, tokens: { prompt: 8, output: 12 } })
  t.equal((await get('calls')).length, 3)
  t.match(await get('calls?last=1'), [{ upstreamModel: 'gpt-4o-mini;status=500', status: 500 }])
  await fetch(new URL('reset', control), { method: 'POST' })
  t.strictSame(sandbox.calls(), [])
  t.match(await get('totals'), { calls: 0, tokens: { prompt: 0 } })
})

t.test('stop cuts what is open', async (t) => {
  const sandbox = await sandboxFor(t)
  const silent = ask(sandbox, directed('hang=1'))
  const failed = t.rejects(silent)
  await until(() => sandbox.calls().length === 1)
  await sandbox.stop()
  await failed
  await until(() => sandbox.calls()[0]?.outcome === 'cancelled')
})
