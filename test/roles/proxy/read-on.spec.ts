import t, { type Test } from 'tap'
import type { RoutedRequest } from '../../../src/roles/dispatch.ts'
import { cancelAtOnce } from '../../../src/roles/dispatch.ts'
import { type Bench, type BenchOptions, billOf, callOf, failureOf, hear, startBench } from './forwarding.ts'

interface Leaving {
  readonly bench: Bench
  readonly leave: (reason?: unknown) => void
  readonly left: Promise<unknown>
}

const per_call = { web_search: '0.01', web_search_medium: '0.01' }

/** Resolves once the upstream has been called and has sent `chunks` chunks of its stream; -1: none. */
const open = async (
  t: Test,
  model: string | readonly string[],
  chunks: number,
  call: Partial<RoutedRequest> = {},
  options: BenchOptions = {},
): Promise<Leaving> => {
  const bench = await startBench(t, options)
  return leaving(bench, model, chunks, call)
}

const leaving = async (
  bench: Bench,
  model: string | readonly string[],
  chunks: number,
  call: Partial<RoutedRequest> = {},
): Promise<Leaving> => {
  const client = new AbortController()
  const before = bench.sandbox.calls().length
  const asked = callOf(model, { stream: true, ...call })
  const candidates = asked.candidates.map((candidate) => ({ ...candidate, sheet: { ...candidate.sheet, per_call } }))
  const { messages, ...rest } = asked.body
  const body = asked.surface === 'responses' ? rest : { ...rest, messages }
  const left = hear(bench.dispatch({ ...asked, body, candidates }, client.signal))
  while ((bench.sandbox.calls()[before]?.chunksWritten ?? Number.NEGATIVE_INFINITY) < chunks)
    await new Promise((resolve) => setTimeout(resolve, 5))
  await new Promise((resolve) => setTimeout(resolve, 20))
  return { bench, leave: (reason) => client.abort(reason), left }
}

const idle = async ({ bench, left }: Leaving): Promise<void> => {
  await left
  await bench.inFlight.idle()
  while (bench.sandbox.calls().some(({ outcome }) => outcome === 'open'))
    await new Promise((resolve) => setTimeout(resolve, 5))
}

const thinking = { body: { reasoning_effort: 'high' } }
const slowly = 'chunk_delay_ms=20'

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }

const drained: Readonly<Record<string, readonly [model: string, Partial<RoutedRequest>, BenchOptions?]>> = {
  'a model that thinks': [`openai/gpt-5;first_chunk_delay_ms=150;${slowly}`, thinking],
  'a search model': [`openai/gpt-4o-search-preview;${slowly}`, {}],
  'a built-in tool on messages': [
    `anthropic/claude;${slowly}`,
    { surface: 'messages', body: { max_tokens: 100, tools: [{ type: 'web_search_20250305', name: 'web_search' }] } },
  ],
  'a built-in tool on responses': [
    `openai/gpt-5;${slowly}`,
    { surface: 'responses', body: { input: 'one two three', tools: [{ type: 'web_search' }] } },
  ],
  audio: [
    `openai/gpt-4o-audio;${slowly}`,
    { body: { modalities: ['text', 'audio'], audio: { voice: 'ash', format: 'pcm16' } } },
  ],
  'a prompt with an image': [
    `openai/gpt-4o;${slowly}`,
    { body: { messages: [{ role: 'user', content: [{ type: 'text', text: 'one two' }, image] }] } },
  ],
  'a provider that bills on': [`gemini/a;${slowly}`, {}],
  'a provider that is configured as billing on': [`openai/a;${slowly}`, {}, { cancelStopsBilling: false }],
}

for (const [name, [model, call, options]] of Object.entries(drained))
  t.test(`${name}: read on, and billed as reported`, async (t) => {
    const client = await open(t, model, name === 'a model that thinks' ? 0 : 1, call, options)
    client.leave()
    await idle(client)
    const [asked] = client.bench.sandbox.calls()
    t.equal(asked?.outcome, 'completed')
    t.match(billOf(t, client.bench), {
      outcome: 'client_gone',
      source: 'reported',
      usage: { outputTotal: asked?.tokens?.output, outputReasoning: asked?.tokens?.reasoning },
    })
  })

t.test('a plain answer is cancelled, and what was produced is counted', async (t) => {
  const client = await open(t, 'openai/a;output_tokens=200;chunk_delay_ms=10', 20)
  client.leave()
  await idle(client)
  t.equal(client.bench.sandbox.calls()[0]?.outcome, 'cancelled')
  const { source, usage, estimate } = billOf(t, client.bench)
  t.equal(source, 'estimated')
  t.ok(usage.outputTotal >= 15 && usage.outputTotal <= 40, `${usage.outputTotal} tokens`)
  t.equal(estimate, undefined)
})

t.test('too many are read on: this one is cancelled at once, and estimated', async (t) => {
  for (const [model, chunks] of [
    [`gemini/a;${slowly}`, 1],
    ['openai/a;hang', -1],
  ] as const) {
    const client = await open(t, model, chunks)
    client.leave(cancelAtOnce)
    await idle(client)
    t.match(billOf(t, client.bench), { outcome: 'client_gone', source: 'estimated' })
    t.equal(client.bench.sandbox.calls()[0]?.outcome, 'cancelled')
  }
})

t.test('a head that comes after its client has left', async (t) => {
  const model = 'first_chunk_delay_ms=150;chunk_delay_ms=10'
  const plain = await open(t, `openai/a;${model}`, 0)
  plain.leave()
  await idle(plain)
  t.equal(plain.bench.sandbox.calls()[0]?.outcome, 'cancelled')
  t.match(billOf(t, plain.bench), { outcome: 'client_gone', source: 'estimated', usage: { promptTotal: 10 } })

  const refused = await open(t, ['openai/a;delay_ms=100;status=500', 'openai/b'], -1)
  refused.leave()
  await idle(refused)
  t.equal(refused.bench.sandbox.calls().length, 1, 'no further candidate is asked')
  t.match(failureOf(t, refused.bench), { status: 499, reason: 'client_gone' }, 'an upstream that failed is free')
})

t.test('where the bound ends it, what was hidden is estimated from the time and the rate', async (t) => {
  const bench = await startBench(t, { drainMs: 100 })
  const hidden = 'openai/gpt-5;first_chunk_delay_ms=400;reasoning_tokens=400'
  const first = await leaving(bench, hidden, 0, thinking)
  first.leave()
  await first.left
  await bench.inFlight.idle()
  const unknown = billOf(t, bench)
  t.match(unknown, {
    outcome: 'client_gone',
    source: 'estimated',
    estimate: { basis: 'default', tokensPerMinute: 3_600 },
  })
  const { hiddenTokens, thinkingMs } = unknown.estimate!
  t.equal(hiddenTokens, Math.round((thinkingMs * 3_600) / 60_000))
  t.equal(unknown.usage.outputReasoning, hiddenTokens)

  await hear(bench.dispatch(callOf(hidden, { stream: true, ...thinking }), new AbortController().signal))
  const last = await leaving(bench, hidden, 0, thinking)
  last.leave()
  await last.left
  await bench.inFlight.idle()
  const known = bench.log.events.at(-1)?.data
  t.match(known, { estimate: { basis: 'observed' } })
  if (known === undefined || !('usage' in known)) throw new Error('a bill')
  const perMs = known.estimate!.tokensPerMinute / 60_000
  t.ok(perMs > 0.1 && perMs < 1.05, `${perMs} tokens in a millisecond, of 400 in 400 or more`)
  t.equal(known.usage.outputReasoning, Math.round(known.estimate!.thinkingMs * perMs))
})

t.test('an answer that has begun still owes what was thought before', async (t) => {
  const client = await open(
    t,
    'openai/gpt-5;first_chunk_delay_ms=300;reasoning_tokens=300;output_tokens=100;chunk_delay_ms=10',
    10,
    thinking,
  )
  client.leave()
  await idle(client)
  t.equal(client.bench.sandbox.calls()[0]?.outcome, 'cancelled')
  const { usage, estimate } = billOf(t, client.bench)
  t.ok(usage.outputReasoning >= 15, `${usage.outputReasoning} tokens of thinking`)
  t.equal(usage.outputReasoning, estimate?.hiddenTokens)
})

t.test('thinking that was reported before the text is not estimated as well', async (t) => {
  const client = await open(
    t,
    'google/gemini-2.5-flash;first_chunk_delay_ms=400;reasoning_tokens=7;output_tokens=200;chunk_delay_ms=10',
    30,
    {},
    { drainMs: 50 },
  )
  client.leave()
  await idle(client)
  t.equal(client.bench.sandbox.calls()[0]?.outcome, 'cancelled')
  const { source, usage, estimate } = billOf(t, client.bench)
  t.equal(source, 'estimated')
  t.equal(usage.outputReasoning, 7)
  t.ok(usage.outputTotal > 7)
  t.equal(estimate, undefined)
})

t.test('no estimate is above the reservation', async (t) => {
  const client = await open(t, 'openai/gpt-5;hang', -1, { ...thinking, reserved: '0.00003' }, { drainMs: 1_000 })
  client.leave()
  await idle(client)
  const { total, estimate } = billOf(t, client.bench)
  t.ok(Number(total) <= 0.00003)
  t.equal(estimate?.hiddenTokens, 1)
})

t.test('an endless answer is read on up to the reservation', async (t) => {
  const endless = `gemini/a;big_bytes=${16 * 1024 * 1024}`
  const client = await open(t, endless, 1, { reserved: '0.001' })
  client.leave()
  await idle(client)
  t.match(billOf(t, client.bench), { source: 'estimated' })
  t.ok(Number(billOf(t, client.bench).total) <= 0.001)
})

t.test('a stop of the gateway ends it as the bound does', async (t) => {
  for (const chunks of [-1, 1]) {
    const client = await open(t, `gemini/a;${chunks < 0 ? 'hang' : 'hang_after=3'}`, chunks)
    client.leave()
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.equal(client.bench.log.events.length, 0)
    client.bench.inFlight.shutDown()
    await idle(client)
    t.match(billOf(t, client.bench), { outcome: 'client_gone', source: 'estimated' })
  }
})
