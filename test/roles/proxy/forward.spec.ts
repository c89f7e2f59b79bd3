import t from 'tap'
import { sandboxOrganisation } from '../../../sandbox/server.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { ask, askSandbox, billOf, callOf, failureOf, hear, providerKey, startBench, stay } from './forwarding.ts'

const wantsUsage: JsonObject = { stream_options: { include_usage: true } }
const done = 'data: [DONE]\n\n'
const figures = 'prompt_tokens=1000;completion_tokens=200;cached_tokens=400'

/** Ids and times differ from call to call. */
const anonymous = (text: string): string =>
  text.replaceAll(/"id":"[^"]*"/g, '"id":"x"').replaceAll(/"created":\d+/g, '"created":0')

t.test('a whole answer: bytes unchanged, one exact bill', async (t) => {
  const bench = await startBench(t)
  const { head, text, error } = await ask(bench, `openai/gpt-4o-mini;${figures}`)
  t.equal(error, null)
  t.strictSame(head, { type: 'head', contentType: 'application/json', level: 0, model: 'openai/gpt-4o-mini' })
  t.equal(anonymous(text), anonymous(await askSandbox(bench, `gpt-4o-mini;${figures}`)))
  // 600 at 2 USD, 400 at 0.5, 200 at 8 for a million.
  t.match(billOf(t, bench), {
    model: 'openai/gpt-4o-mini',
    provider: 'openai',
    level: 0,
    priceVersion: 'v1',
    source: 'reported',
    outcome: 'completed',
    total: '0.003',
    reserved: '1',
    lines: [
      { item: 'input', quantity: 600, unitPrice: '0.000002', amount: '0.0012' },
      { item: 'cached_input', quantity: 400, unitPrice: '0.0000005', amount: '0.0002' },
      { item: 'output', quantity: 200, unitPrice: '0.000008', amount: '0.0016' },
    ],
    attempts: [{ outcome: 'served', status: 200, reason: null, upstreamRequestId: /^req_\w{8,}$/ }],
  })
})

for (const shape of ['', ';split=1', ';split=7', ';crlf=1', ';comment=1', ';unicode=1;split=3', ';big_bytes=300000'])
  t.test(`a stream: bytes unchanged ${shape}`, async (t) => {
    const bench = await startBench(t)
    const model = `gpt-4o-mini;${figures}${shape}`
    const { head, text } = await ask(bench, `openai/${model}`, { stream: true, body: wantsUsage })
    t.match(head, { contentType: /^text\/event-stream/, level: 0 })
    t.equal(anonymous(text), anonymous(await askSandbox(bench, model, { stream: true, ...wantsUsage })))
    t.match(billOf(t, bench), { total: '0.003', source: 'reported', outcome: 'completed' })
  })

t.test('usage is asked for, and not told to a caller that did not ask', async (t) => {
  const bench = await startBench(t)
  const { text } = await ask(bench, `openai/gpt-4o-mini;${figures}`, { stream: true })
  t.notMatch(text, /"usage"/)
  t.ok(text.endsWith(done))
  t.match(billOf(t, bench), { total: '0.003', source: 'reported' })
  t.match(bench.sandbox.calls()[0]?.body, { stream_options: { include_usage: true } })
})

t.test('usage beside choices', async (t) => {
  const bench = await startBench(t)
  const { text } = await ask(bench, `openai/gpt-4o-mini;${figures};usage_with_choices=1`, { stream: true })
  t.notMatch(text, /"usage"/)
  t.match(text, /"finish_reason":"stop"/)
  t.match(billOf(t, bench), { total: '0.003', source: 'reported' })
})

for (const stream of [false, true]) {
  const how = stream ? 'stream' : 'whole'

  t.test(`a service tier that has no price is charged as the standard one, and marked (${how})`, async (t) => {
    const bench = await startBench(t)
    await ask(bench, `openai/gpt-4o-mini;${figures};service_tier=flex`, { stream })
    const bill = billOf(t, bench)
    t.match(bill, { usage: { serviceTier: 'flex' }, unpriced: ['service_tier'], total: '0.003' })
    t.match(bench.sandbox.calls()[0]?.body, { service_tier: 'default' })
  })

  t.test(`a usage that cannot be is charged with the reservation, and marked (${how})`, async (t) => {
    const bench = await startBench(t)
    await ask(bench, 'openai/gpt-4o-mini;prompt_tokens=10000000;completion_tokens=1', { stream })
    t.match(billOf(t, bench), {
      plausible: false,
      usage: { promptTotal: 10_000_000, outputTotal: 1 },
      lines: [{ item: 'reservation', quantity: 1, unitPrice: '1', amount: '1' }],
      total: '1',
      reserved: '1',
      source: 'reported',
    })
  })

  t.test(`xAI and Gemini count otherwise (${how})`, async (t) => {
    for (const profile of ['xai', 'gemini']) {
      const bench = await startBench(t)
      const told = `profile=${profile};prompt_tokens=12;completion_tokens=1;reasoning_tokens=290`
      await ask(bench, `${profile}/m;${told}`, { stream })
      t.match(billOf(t, bench).usage, { promptTotal: 12, outputTotal: 291, outputReasoning: 290 }, profile)
    }
  })

  t.test(`candidate failures fall over (${how})`, async (t) => {
    const faults = [401, 402, 403, 408, 429, 500, 502, 503, 504, 529].map((status) => `status=${status}`)
    for (const fault of [...faults, 'html=1', 'not_json=1', 'error_200=1', 'break_after=0', 'html=1;status=404']) {
      const bench = await startBench(t)
      const { head, text, error } = await ask(bench, [`openai/a;${fault}`, 'openai/b'], { stream })
      t.equal(error, null, fault)
      t.match(head, { level: 1, model: 'openai/b' })
      t.match(text, /one/)
      t.match(billOf(t, bench), {
        level: 1,
        model: 'openai/b',
        attempts: [{ outcome: 'failed' }, { outcome: 'served' }],
      })
    }
  })

  t.test(`alone, a candidate failure is 502 and free (${how})`, async (t) => {
    for (const fault of [
      'status=401',
      'status=403',
      'status=500',
      'status=529',
      'html=1',
      'not_json=1',
      'error_200=1',
    ]) {
      const bench = await startBench(t)
      const { head, error } = await ask(bench, `openai/a;${fault}`, { stream })
      t.equal(head, null)
      t.match(error, { status: 502, code: 'upstream_error', failedAt: { level: 0, model: 'openai/a' } }, fault)
      t.match(failureOf(t, bench), { status: 502, reason: 'upstream_error', attempts: [{ outcome: 'failed' }] })
    }
  })

  t.test(`the last failure decides (${how})`, async (t) => {
    const bench = await startBench(t)
    const chain = ['openai/a;status=429;retry_after=9', 'openai/b;status=503']
    t.match((await ask(bench, chain, { stream })).error, {
      status: 502,
      code: 'fallback_exhausted',
      failedAt: { level: 1, model: 'openai/b' },
    })
    const date = new Date(Date.now() + 30_000).toUTCString()
    const limited = ['openai/a;status=429;retry_after=7', `openai/b;status=429;retry_after=${date}`]
    t.match((await ask(bench, limited, { stream })).error, { status: 429, retryAfterSeconds: 7 })
    t.equal(bench.log.events.length, 2)
  })

  t.test(`the caller's fault is passed on, scrubbed (${how})`, async (t) => {
    for (const status of [400, 404, 413, 422]) {
      const bench = await startBench(t)
      const { error } = await ask(bench, [`openai/a;status=${status};leak=Oops`, 'openai/b'], { stream })
      t.match(error, { status, failedAt: { level: 0, model: 'openai/a' } })
      t.match(error?.message, /directed to fail/)
      for (const secret of [providerKey, sandboxOrganisation, '127.0.0.1', `${bench.sandbox.port}`])
        t.notOk(error?.message.includes(secret), secret)
      t.match(failureOf(t, bench), { status, attempts: [{ status, reason: 'refused' }] })
      t.equal(bench.sandbox.calls().length, 1)
    }
    const bench = await startBench(t)
    const told = 'openai/a;status=400;error_code=context_length_exceeded'
    t.match((await ask(bench, told, { stream })).error, { code: 'context_length_exceeded' })
  })

  t.test(`silence is a failure (${how})`, async (t) => {
    const bench = await startBench(t, { firstByteMs: 150, wholeAnswerMs: 150 })
    const { head } = await ask(bench, ['openai/a;hang=1', 'openai/b;hang_after=0', 'openai/c'], { stream })
    t.match(head, { level: 2, model: 'openai/c' })
    t.match(billOf(t, bench).attempts, [{ reason: 'timeout' }, { reason: 'timeout' }, { outcome: 'served' }])
    t.match((await ask(bench, 'openai/a;hang=1', { stream })).error, { status: 502, code: 'upstream_timeout' })
  })

  t.test(`nobody listens (${how})`, async (t) => {
    const bench = await startBench(t, { baseUrl: 'http://127.0.0.1:1/v1' })
    const { error } = await ask(bench, 'openai/a', { stream })
    t.match(error, { status: 502, code: 'upstream_error' })
    t.match(failureOf(t, bench).attempts, [{ reason: 'network', status: null }])
  })

  t.test(`a provider that is not configured here (${how})`, async (t) => {
    const bench = await startBench(t)
    t.match((await ask(bench, ['nobody/a', 'openai/b'], { stream })).head, { level: 1 })
    t.match(billOf(t, bench).attempts, [{ reason: 'provider_not_configured' }, { outcome: 'served' }])
  })

  t.test(`the deadline ends the call (${how})`, async (t) => {
    const bench = await startBench(t)
    const { error } = await ask(bench, ['openai/a;hang=1', 'openai/b'], { stream, deadlineMs: Date.now() + 150 })
    t.match(error, { status: 502, code: 'upstream_timeout' })
    t.match(failureOf(t, bench), { reason: 'upstream_timeout', attempts: [{ reason: 'deadline' }] })
  })

  t.test(`without usage the answer is counted (${how})`, async (t) => {
    const bench = await startBench(t)
    const { text } = await ask(bench, 'openai/a;no_usage=1', { stream, body: wantsUsage })
    // "You said: one two three" is 6 tokens of o200k; "user" + "one two three", wrapped, are 9 or 10.
    const bill = billOf(t, bench)
    t.match(bill, { source: 'estimated', outcome: 'completed', usage: { outputTotal: 6 } })
    t.match(text, `"prompt_tokens":${bill.usage.promptTotal},"completion_tokens":6`, 'told to the caller')
  })

  t.test(`no answer ends without its bill (${how})`, async (t) => {
    const bench = await startBench(t, { closingAckMs: 100 })
    bench.log.stall()
    const { head, text, error } = await ask(bench, `openai/a;${figures}`, { stream })
    t.match(error, { status: 503, code: 'log_unavailable', retryAfterSeconds: 1 })
    t.notMatch(text, /DONE/)
    t.equal(head === null, !stream)
    bench.log.resume()
    await bench.inFlight.idle()
    const [bill, ...others] = bench.log.events
    t.equal(others.length, 0)
    t.match(bill, { type: 'UsageRecorded', data: { total: '0.003' } })
  })

  t.test(`a log that refuses (${how})`, async (t) => {
    const bench = await startBench(t)
    bench.log.refuse()
    t.match((await ask(bench, 'openai/a', { stream })).error, { status: 503, code: 'log_unavailable' })
    await bench.inFlight.idle()
    t.ok(bench.lines.some(({ event }) => event === 'request.end_not_recorded'))
  })

  t.test(`a failed request does not wait for the log for ever (${how})`, async (t) => {
    const bench = await startBench(t, { closingAckMs: 100 })
    bench.log.stall()
    t.match((await ask(bench, 'openai/a;status=500', { stream })).error, { status: 502 })
    t.equal(bench.log.appended, 1)
    bench.log.resume()
    await bench.inFlight.idle()
    failureOf(t, bench)
  })

  t.test(`a client that is gone before we begin costs nothing (${how})`, async (t) => {
    const bench = await startBench(t)
    await hear(bench.dispatch(callOf('openai/a', { stream }), AbortSignal.abort()))
    t.match(failureOf(t, bench), { status: 499, reason: 'client_gone', attempts: [] })
    t.equal(bench.sandbox.calls().length, 0)
  })
}

t.test('a whole answer that breaks off falls over', async (t) => {
  const bench = await startBench(t)
  t.match((await ask(bench, ['openai/a;break_after=1', 'openai/b'])).head, { level: 1 })
  t.match(billOf(t, bench).attempts, [{ outcome: 'failed', reason: 'network' }, { outcome: 'served' }])
})

t.test('a whole answer is billed exactly when the client goes', async (t) => {
  const bench = await startBench(t)
  const gone = new AbortController()
  const answer = hear(bench.dispatch(callOf(`openai/a;${figures};delay_ms=200`), gone.signal))
  while (bench.sandbox.calls().length === 0) await new Promise(setImmediate)
  gone.abort()
  await answer
  t.match(billOf(t, bench), { outcome: 'client_gone', source: 'reported', total: '0.003' })
})

// "You said:" is 3 tokens.
t.test('after the first byte there is no fallback: a broken stream is billed as far as it was delivered', async (t) => {
  for (const fault of ['break_after=3', 'stream_error=3']) {
    const bench = await startBench(t)
    const { head, text, error } = await ask(bench, [`openai/a;${fault}`, 'openai/b'], { stream: true })
    t.match(head, { level: 0 })
    t.match(error, { code: 'upstream_stream_interrupted' })
    t.match(text, /You.*said/s)
    t.notMatch(text, /one|DONE|error/)
    t.match(billOf(t, bench), { outcome: 'interrupted', source: 'estimated', level: 0, usage: { outputTotal: 3 } })
    t.equal(bench.sandbox.calls().length, 1)
  }
})

t.test('the first event decides: an error there falls over', async (t) => {
  const bench = await startBench(t)
  t.match((await ask(bench, ['openai/a;stream_error=0', 'openai/b'], { stream: true })).head, { level: 1 })
  t.match(billOf(t, bench).attempts, [{ reason: 'error_in_stream' }, { outcome: 'served' }])
})

t.test('a stream without its closing event gets one', async (t) => {
  const bench = await startBench(t)
  const { text, error } = await ask(bench, `openai/a;${figures};no_done=1`, { stream: true })
  t.equal(error, null)
  t.ok(text.endsWith(done))
  t.match(billOf(t, bench), { outcome: 'completed', source: 'reported' })
})

t.test('the deadline cuts a stream', async (t) => {
  const bench = await startBench(t)
  const call = { stream: true, deadlineMs: Date.now() + 250 }
  const { text, error } = await ask(bench, 'openai/a;hang_after=3', call)
  t.match(text, /said/)
  t.match(error, { code: 'upstream_timeout' })
  t.match(billOf(t, bench), { outcome: 'interrupted', source: 'estimated', usage: { outputTotal: 3 } })
})

t.test('a client leaves a stream: the upstream is cancelled, what was delivered is billed', async (t) => {
  const bench = await startBench(t)
  const gone = new AbortController()
  const parts = bench.dispatch(callOf('openai/a;hang_after=3', { stream: true }), gone.signal)
  const heard = hear(parts)
  while ((bench.sandbox.calls()[0]?.chunksWritten ?? 0) < 3) await new Promise(setImmediate)
  setTimeout(() => gone.abort(), 50)
  await heard
  await bench.inFlight.idle()
  t.match(billOf(t, bench), { outcome: 'client_gone', source: 'estimated', usage: { outputTotal: 3 } })
  while (bench.sandbox.totals().open > 0) await new Promise(setImmediate)
  t.match(bench.sandbox.totals(), { cancelled: 1, completed: 0 })
})

t.test('a client leaves before the first byte, and none comes within the bound: the input is billed', async (t) => {
  const bench = await startBench(t, { drainMs: 100 })
  const gone = new AbortController()
  const heard = hear(bench.dispatch(callOf(['openai/a;hang=1', 'openai/b'], { stream: true }), gone.signal))
  while (bench.sandbox.calls().length === 0) await new Promise(setImmediate)
  gone.abort()
  t.match((await heard).error, { status: 499 })
  t.equal(bench.sandbox.calls().length, 1, 'no further candidate is asked')
  t.match(billOf(t, bench), {
    outcome: 'client_gone',
    source: 'estimated',
    usage: { promptTotal: 10, outputTotal: 0 },
    attempts: [{ outcome: 'failed', reason: 'client_gone' }],
  })
})

t.test('a reader that stops without a word is a client that is gone', async (t) => {
  for (const partsRead of [1, 2]) {
    const bench = await startBench(t)
    let read = 0
    for await (const _ of bench.dispatch(callOf('openai/a;hang_after=3', { stream: true }), stay())) {
      read += 1
      if (read === partsRead) break
    }
    await bench.inFlight.idle()
    t.match(billOf(t, bench), { outcome: 'client_gone' })
    t.equal(bench.log.events.length, 1)
  }
})

t.test('a reader that never comes back is billed all the same when its client goes', async (t) => {
  const bench = await startBench(t)
  const gone = new AbortController()
  const parts = bench.dispatch(callOf('openai/a;hang_after=3', { stream: true }), gone.signal)[Symbol.asyncIterator]()
  await parts.next()
  await parts.next()
  gone.abort()
  await bench.inFlight.idle()
  t.match(billOf(t, bench), { outcome: 'client_gone', source: 'estimated' })
})

t.test(
  'a client that goes before the end is billed by what was delivered, where the usage told so far is less',
  async (t) => {
    const bench = await startBench(t, { cancelStopsBilling: true })
    const gone = new AbortController()
    const told = 'gemini/a;profile=gemini;prompt_tokens=12;hang_after=3'
    const heard = hear(bench.dispatch(callOf(told, { stream: true }), gone.signal))
    while ((bench.sandbox.calls()[0]?.chunksWritten ?? 0) < 3) await new Promise(setImmediate)
    setTimeout(() => gone.abort(), 50)
    await heard
    await bench.inFlight.idle()
    t.match(billOf(t, bench), {
      outcome: 'client_gone',
      source: 'estimated',
      usage: { promptTotal: 12, outputTotal: 3 },
    })
  },
)

t.test('a slow reader stops its upstream', async (t) => {
  const bench = await startBench(t)
  const bytes = 64 * 1024 * 1024
  const call = callOf(`openai/a;big_bytes=${bytes}`, { stream: true })
  const parts = bench.dispatch(call, stay())[Symbol.asyncIterator]()
  await parts.next()
  await parts.next()
  await new Promise((resolve) => setTimeout(resolve, 300))
  const written = (bench.sandbox.calls()[0]?.chunksWritten ?? 0) * 4096
  t.ok(written < bytes / 2, `${written} bytes were taken without a reader`)
  await parts.return?.()
  await bench.inFlight.idle()
  t.match(billOf(t, bench), { outcome: 'client_gone' })
})

t.test('an answer that is too large is a failure', async (t) => {
  const bench = await startBench(t)
  const tooLarge = `openai/a;big_bytes=${65 * 1024 * 1024}`
  t.match((await ask(bench, [tooLarge, 'openai/b'])).head, { level: 1 })
  t.match(billOf(t, bench).attempts, [{ reason: 'answer_too_large' }, { outcome: 'served' }])
})

t.test('the output cap goes upstream', async (t) => {
  const bench = await startBench(t)
  await ask(bench, 'openai/a', { outputCap: 5 })
  t.match(bench.sandbox.calls()[0]?.body, { max_completion_tokens: 5 })
})

t.test('connections are used again', async (t) => {
  const bench = await startBench(t)
  for (let index = 0; index < 5; index += 1) {
    await ask(bench, 'openai/a', { stream: true })
    await ask(bench, 'openai/a')
    await ask(bench, 'openai/a;status=500')
  }
  t.equal(bench.log.events.length, 15)
  t.equal(bench.sandbox.totals().cancelled, 0)
})

t.test('many at once: exactly one closing event each', async (t) => {
  const bench = await startBench(t)
  const models = ['a', 'a;status=500', 'a;break_after=2', 'a;no_usage=1', 'a;split=5', 'a;status=400', 'a;html=1']
  const calls = Array.from({ length: 140 }, (_, index) =>
    callOf(`openai/${models[index % models.length]}`, { stream: index % 2 === 0 }),
  )
  await Promise.all(calls.map((call) => hear(bench.dispatch(call, stay()))))
  const closed = bench.log.events.map(({ data }) => ('requestId' in data ? data.requestId : ''))
  t.strictSame(closed.toSorted(), calls.map(({ requestId }) => requestId).toSorted())
})
