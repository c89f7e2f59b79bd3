import t, { type Test } from 'tap'
import type { Surface as AnySurface, Candidate } from '../../../src/domain/routing/plan.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import type { RoutedRequest } from '../../../src/roles/dispatch.ts'
import { sheet as chatSheet } from '../../providers/openai/target.ts'
import { type Bench, billOf, callOf, candidateOf, failureOf, type Heard, hear, startBench, stay } from './forwarding.ts'

/** Those that answer in text. */
type Surface = Exclude<AnySurface, 'embeddings'>

const words = 'one two three'
const bodies: { readonly [S in Surface]: JsonObject } = {
  chat: { messages: [{ role: 'user', content: words }] },
  messages: { max_tokens: 1000, messages: [{ role: 'user', content: words }] },
  responses: { input: words },
  gemini: { contents: [{ role: 'user', parts: [{ text: words }] }] },
}

/** 1000 tokens in, 400 of them cached, 200 out, as each upstream tells them. */
const figures = 'prompt_tokens=1000;completion_tokens=200;cached_tokens=400'
const toldBy: { readonly [provider: string]: string } = {
  openai: figures,
  xai: `profile=xai;${figures}`,
  gemini: figures,
  anthropic: 'prompt_tokens=600;completion_tokens=200;cached_tokens=400',
  google: figures,
}

const sheet: PriceSheet = {
  ...chatSheet,
  per_call: { web_search: '0.01', grounded_prompt: '0.035', grounding_query: '0.014' },
}

const callFor = (surface: Surface, ids: readonly string[], call: Partial<RoutedRequest> = {}): RoutedRequest => {
  const candidates: readonly Candidate[] = ids.map((id, level) => ({ ...candidateOf(id, level), sheet }))
  const { messages: _ofChat, ...body } = callOf(ids, call).body
  return { ...callOf(ids, { ...call, surface, candidates }), body: { ...body, ...bodies[surface], ...call.body } }
}

const askOn = (
  bench: Bench,
  surface: Surface,
  ids: string | readonly string[],
  call: Partial<RoutedRequest> = {},
): Promise<Heard> => hear(bench.dispatch(callFor(surface, typeof ids === 'string' ? [ids] : ids, call), stay()))

type Read = (text: string) => { readonly said: string; readonly usage: unknown }

const eventsOf = (text: string): readonly ReturnType<JSON['parse']>[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''))

const textOfParts = (candidates: readonly { readonly content: { readonly parts: readonly JsonObject[] } }[]): string =>
  candidates.flatMap(({ content }) => content.parts.map(({ text }) => text ?? '')).join('')

/** What a client of each surface makes of an answer. */
const wholeAs: { readonly [S in Surface]: Read } = {
  chat: (text) => {
    const { object, choices, usage } = JSON.parse(text)
    return { said: object === 'chat.completion' ? choices[0].message.content : '', usage }
  },
  messages: (text) => {
    const { type, content, usage } = JSON.parse(text)
    return { said: type === 'message' ? content.map((block: JsonObject) => block['text'] ?? '').join('') : '', usage }
  },
  responses: (text) => {
    const { object, output, usage } = JSON.parse(text)
    return { said: object === 'response' ? output.at(-1).content[0].text : '', usage }
  },
  gemini: (text) => {
    const { candidates, usageMetadata } = JSON.parse(text)
    return { said: textOfParts(candidates), usage: usageMetadata }
  },
}

const streamAs: { readonly [S in Surface]: Read } = {
  chat: (text) => {
    const chunks = eventsOf(text)
    const said = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    return { said: text.endsWith('data: [DONE]\n\n') ? said : '', usage: chunks.at(-1)?.usage }
  },
  messages: (text) => {
    const events = eventsOf(text)
    const said = events.map(({ delta }) => delta?.text ?? '').join('')
    const end = events.find(({ type }) => type === 'message_delta')
    return { said: events.at(-1)?.type === 'message_stop' ? said : '', usage: end?.usage }
  },
  responses: (text) => {
    const events = eventsOf(text)
    const { type, response } = events.at(-1)
    const said = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
    return { said: type === 'response.completed' ? said : '', usage: response.usage }
  },
  gemini: (text) => {
    const events = eventsOf(text)
    const said = events.map(({ candidates }) => textOfParts(candidates)).join('')
    const { candidates, usageMetadata } = events.at(-1)
    return { said: candidates[0].finishReason === 'STOP' ? said : '', usage: usageMetadata }
  },
}

const usageAs: { readonly [S in Surface]: JsonObject } = {
  chat: { prompt_tokens: 1000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 400 } },
  messages: { input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 200 },
  responses: { input_tokens: 1000, output_tokens: 200, input_tokens_details: { cached_tokens: 400 } },
  gemini: {
    promptTokenCount: 1000,
    candidatesTokenCount: 200,
    totalTokenCount: 1200,
    cachedContentTokenCount: 400,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 1000 }],
  },
}

const pairs: readonly (readonly [Surface, provider: string])[] = [
  ['chat', 'openai'],
  ['chat', 'xai'],
  ['chat', 'gemini'],
  ['chat', 'anthropic'],
  ['chat', 'google'],
  ['messages', 'openai'],
  ['messages', 'xai'],
  ['messages', 'gemini'],
  ['messages', 'anthropic'],
  ['messages', 'google'],
  ['responses', 'openai'],
  ['responses', 'xai'],
  ['responses', 'gemini'],
  ['responses', 'anthropic'],
  ['responses', 'google'],
  ['gemini', 'openai'],
  ['gemini', 'xai'],
  ['gemini', 'gemini'],
  ['gemini', 'anthropic'],
  ['gemini', 'google'],
]

const figureNames: { readonly [S in Surface]: readonly [input: string, output: string] } = {
  chat: ['prompt_tokens', 'completion_tokens'],
  messages: ['input_tokens', 'output_tokens'],
  responses: ['input_tokens', 'output_tokens'],
  gemini: ['promptTokenCount', 'candidatesTokenCount'],
}

const optionsOf = (surface: Surface, stream: boolean): Partial<RoutedRequest> =>
  surface === 'chat' && stream ? { stream, body: { stream_options: { include_usage: true } } } : { stream }

for (const [surface, provider] of pairs)
  for (const stream of [false, true]) {
    const how = `${surface} on ${provider}, ${stream ? 'stream' : 'whole'}`
    const read = stream ? streamAs[surface] : wholeAs[surface]
    const options = optionsOf(surface, stream)

    t.test(`${how}: what is told is billed and given out`, async (t) => {
      const bench = await startBench(t)
      const { head, text, error } = await askOn(bench, surface, `${provider}/m;${toldBy[provider]}`, options)
      t.equal(error, null)
      t.match(head, { level: 0, model: `${provider}/m`, contentType: stream ? /event-stream/ : 'application/json' })
      const { said, usage } = read(text)
      t.match(said, new RegExp(words))
      t.match(usage, usageAs[surface])
      // 600 at 2 USD, 400 at 0.5, 200 at 8 for a million.
      t.match(billOf(t, bench), {
        surface,
        provider,
        source: 'reported',
        outcome: 'completed',
        total: '0.003',
        lines: [
          { item: 'input', quantity: 600, amount: '0.0012' },
          { item: 'cached_input', quantity: 400, amount: '0.0002' },
          { item: 'output', quantity: 200, amount: '0.0016' },
        ],
      })
    })

    t.test(`${how}: what is not told is counted, and told`, async (t) => {
      const bench = await startBench(t)
      const profile = provider === 'xai' || provider === 'gemini' ? `profile=${provider};` : ''
      const { text, error } = await askOn(bench, surface, `${provider}/m;${profile}no_usage=1`, options)
      t.equal(error, null)
      const { usage, source } = billOf(t, bench)
      t.equal(source, 'estimated')
      t.ok(usage.promptTotal > 0 && usage.outputTotal > 0)
      const { said, usage: told } = read(text)
      t.match(said, new RegExp(words))
      const [input, output] = figureNames[surface]
      t.match(told, { [input]: usage.promptTotal, [output]: usage.outputTotal })
    })

    t.test(`${how}: a candidate failure is free`, async (t) => {
      for (const fault of ['status=500', 'status=401', 'error_200=1', 'html=1', 'break_after=0']) {
        const bench = await startBench(t)
        const { head, error } = await askOn(bench, surface, `${provider}/m;${fault}`, options)
        t.equal(head, null, fault)
        t.match(error, { status: 502 }, fault)
        t.match(failureOf(t, bench), { surface, attempts: [{ outcome: 'failed' }] })
      }
    })
  }

const chains: readonly (readonly [Surface, failing: readonly string[], serving: string])[] = [
  ['chat', ['openai/a;status=500', 'anthropic/b;status=529'], 'google'],
  ['chat', ['google/a;error_200=1', 'openai/b;html=1'], 'anthropic'],
  ['chat', ['anthropic/a;break_after=0'], 'openai'],
  ['messages', ['anthropic/a;status=529', 'google/b;status=503'], 'openai'],
  ['messages', ['openai/a;break_after=0'], 'anthropic'],
  ['messages', ['anthropic/a;error_200=1'], 'google'],
  ['responses', ['openai/a;status=503'], 'xai'],
  ['gemini', ['google/a;status=503', 'openai/b;html=1'], 'anthropic'],
  ['gemini', ['anthropic/a;error_200=1'], 'google'],
]

for (const [surface, failing, serving] of chains)
  for (const stream of [false, true])
    t.test(
      `${surface} falls over from ${failing.join(', ')} to ${serving} (${stream ? 'stream' : 'whole'})`,
      async (t) => {
        const bench = await startBench(t)
        const ids = [...failing, `${serving}/z;${toldBy[serving]}`]
        const { head, text } = await askOn(bench, surface, ids, optionsOf(surface, stream))
        t.match(head, { level: failing.length, model: `${serving}/z` })
        const { said, usage } = (stream ? streamAs : wholeAs)[surface](text)
        t.match(said, new RegExp(words))
        t.match(usage, usageAs[surface])
        const attempts = [...failing.map(() => ({ outcome: 'failed' })), { outcome: 'served' }]
        t.match(billOf(t, bench), { level: failing.length, provider: serving, total: '0.003', attempts })
      },
    )

/** By surface: a request for which `asking` can be asked, and `passed` cannot. */
const unasked: {
  readonly [S in Surface]: {
    readonly body: JsonObject
    readonly asking: string
    readonly passed: readonly (readonly [id: string, reason: string])[]
  }
} = {
  chat: {
    body: { n: 2 },
    asking: 'openai',
    passed: [
      ['anthropic/p', 'unsupported_parameter'],
      ['google/p', 'unsupported_parameter'],
    ],
  },
  messages: {
    body: { mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example/sse' }] },
    asking: 'anthropic',
    passed: [
      ['openai/p', 'unsupported_parameter'],
      ['google/p', 'unsupported_parameter'],
    ],
  },
  responses: {
    body: { top_logprobs: 2 },
    asking: 'openai',
    passed: [
      ['google/p', 'unsupported_parameter'],
      ['gemini/p', 'unsupported_parameter'],
      ['anthropic/p', 'unsupported_parameter'],
    ],
  },
  gemini: {
    body: { generationConfig: { responseLogprobs: true } },
    asking: 'google',
    passed: [
      ['openai/p', 'unsupported_parameter'],
      ['anthropic/p', 'unsupported_parameter'],
      ['gemini/p', 'unsupported_parameter'],
    ],
  },
}

const attemptOf = ([id, reason]: readonly [id: string, reason: string]) => ({
  model: id,
  outcome: 'passed_over',
  status: null,
  reason,
})

for (const surface of ['chat', 'messages', 'responses', 'gemini'] as const)
  for (const stream of [false, true]) {
    const { body, asking, passed } = unasked[surface]
    const ids = passed.map(([id]) => id)
    const listed = passed.map(attemptOf)
    const how = `${surface}, ${stream ? 'stream' : 'whole'}`

    t.test(`candidates that cannot be asked are passed over, in any position (${how})`, async (t) => {
      for (const before of [...ids.keys(), ids.length]) {
        const [first, then] = [ids.slice(0, before), ids.slice(before)]
        const bench = await startBench(t)
        const served = await askOn(bench, surface, [...first, `${asking}/z`, ...then], { stream, body })
        t.equal(served.error, null)
        t.match(served.head, { level: before, model: `${asking}/z` })
        const attempts = [...listed.slice(0, before), { model: `${asking}/z`, outcome: 'served', status: 200 }]
        t.match(billOf(t, bench), { level: before, attempts })
        t.equal(billOf(t, bench).attempts.length, before + 1)
        t.equal(bench.sandbox.calls().length, 1, 'no other was asked')
      }
    })

    t.test(`behind one that fails the next that can be asked serves (${how})`, async (t) => {
      const bench = await startBench(t)
      const served = await askOn(bench, surface, [`${asking}/a;status=503`, ...ids, `${asking}/z`], { stream, body })
      t.match(served, { error: null, head: { level: ids.length + 1, model: `${asking}/z` } })
      t.match(billOf(t, bench).attempts, [{ outcome: 'failed', status: 503 }, ...listed, { outcome: 'served' }])
      t.equal(bench.sandbox.calls().length, 2)
    })

    t.test(`once any was asked, its failure decides (${how})`, async (t) => {
      const rows: readonly (readonly [string, object])[] = [
        ['status=503', { status: 502, code: 'fallback_exhausted' }],
        ['status=429;retry_after=7', { status: 429, code: 'rate_limit_exceeded', retryAfterSeconds: 7 }],
        ['status=400;error_message=odd', { status: 400, code: 'invalid_request', message: /odd/ }],
      ]
      for (const [fault, expected] of rows)
        for (const before of [0, 1, ids.length]) {
          const [first, then] = [ids.slice(0, before), ids.slice(before)]
          const bench = await startBench(t)
          const { error } = await askOn(bench, surface, [...first, `${asking}/a;${fault}`, ...then], { stream, body })
          t.match(error, { ...expected, failedAt: { level: before, model: `${asking}/a` } }, `${fault} at ${before}`)
          t.match(failureOf(t, bench), {
            status: error?.status,
            attempts: [...listed.slice(0, before), { outcome: 'failed' }],
          })
          t.equal(bench.sandbox.calls().length, 1)
        }
    })

    t.test(`only where none can be asked is the refusal ours (${how})`, async (t) => {
      const bench = await startBench(t)
      const { error } = await askOn(bench, surface, ids, { stream, body })
      t.match(error, { code: passed[0]?.[1], failedAt: { level: 0, model: ids[0] } })
      t.match(failureOf(t, bench), { status: error?.status, reason: passed[0]?.[1], attempts: listed })
      t.equal(bench.sandbox.calls().length, 0)
    })
  }

t.test('of several refusals of ours the first decides', async (t) => {
  const bench = await startBench(t)
  const body = { tools: [{ type: 'x_search' }], tool_choice: { type: 'x_search' } }
  const { error } = await askOn(bench, 'responses', ['anthropic/a', 'openai/b', 'xai/c'], { body })
  t.match(error, { status: 400, param: 'tool_choice', failedAt: { level: 0, model: 'anthropic/a' } })
  const { attempts } = failureOf(t, bench)
  t.same(
    attempts.map(({ reason }) => reason),
    ['unsupported_parameter', 'unsupported_parameter', 'unsupported_parameter'],
  )
})

t.test('responses on a dialect without them are translated, without the tools that it does not have', async (t) => {
  for (const provider of ['anthropic', 'google', 'gemini'])
    for (const stream of [false, true]) {
      const bench = await startBench(t)
      const now = { type: 'function', name: 'now', parameters: { type: 'object', properties: {} } }
      const body = { tools: [{ type: 'x_search' }, { type: 'web_search' }, now] }
      const dropped = provider === 'anthropic' ? ['x_search'] : ['x_search', 'web_search']
      const { head, error, text } = await askOn(bench, 'responses', `${provider}/m`, { body, stream })
      t.equal(error, null, provider)
      t.same(head?.droppedTools, dropped, provider)
      t.match(text, /"object":"response"/)
      billOf(t, bench)
    }
})

t.test('a relayed request is served without the offered tools that have no price', async (t) => {
  const offered = { responses: { type: 'x_search' }, messages: { type: 'advisor_20260301', name: 'advisor' } }
  const serving = { responses: 'openai/m', messages: 'anthropic/m' }
  for (const surface of ['responses', 'messages'] as const)
    for (const stream of [false, true]) {
      const bench = await startBench(t)
      const { head, error } = await askOn(bench, surface, serving[surface], {
        body: { tools: [offered[surface]] },
        stream,
      })
      t.equal(error, null, surface)
      t.same(head?.droppedTools, [offered[surface].type])
      billOf(t, bench)
    }
})

t.test('a stored answer is billed with its id, one that is not kept without', async (t) => {
  for (const stream of [false, true]) {
    const bench = await startBench(t)
    const { text } = await askOn(bench, 'responses', 'openai/m', { stream })
    const { storedResponseId } = billOf(t, bench)
    t.match(storedResponseId, /^resp_\w+$/)
    t.match(text, storedResponseId ?? 'none')
    const unkept = await startBench(t)
    await askOn(unkept, 'responses', 'openai/m', { stream, body: { store: false } })
    t.notOk('storedResponseId' in billOf(t, unkept))
  }
})

/** Reads until the text is there, and leaves. */
const leave = async (bench: Bench, call: RoutedRequest, until: RegExp): Promise<void> => {
  const client = new AbortController()
  let text = ''
  try {
    for await (const part of bench.dispatch(call, client.signal)) {
      if (part.type === 'bytes') text += Buffer.from(part.bytes).toString()
      if (until.test(text)) client.abort()
    }
  } catch (fault) {
    if (!client.signal.aborted) throw fault
  }
  await bench.inFlight.idle()
}

t.test('an interrupted answer that is kept is billed with its id', async (t) => {
  const bench = await startBench(t)
  const { error } = await askOn(bench, 'responses', 'openai/m;break_after=6', { stream: true })
  t.equal(error?.code, 'upstream_stream_interrupted')
  t.match(billOf(t, bench), { outcome: 'interrupted', source: 'estimated', storedResponseId: /^resp_\w+$/ })
})

const searching: { readonly [S in 'chat' | 'messages']: JsonObject } = {
  chat: { web_search_options: {} },
  messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
}

const interrupted = async (t: Test, surface: 'chat' | 'messages', id: string): Promise<Bench> => {
  const bench = await startBench(t)
  const call = callFor(surface, [id], { stream: true, body: searching[surface] })
  await leave(bench, call, /"text_delta"|"content":"[^"]/)
  return bench
}

t.test('a client that leaves pays for the searches that were seen', async (t) => {
  for (const surface of ['chat', 'messages'] as const) {
    const bench = await interrupted(t, surface, 'anthropic/claude-sonnet-4-5;searches=2;chunk_delay_ms=30')
    t.match(billOf(t, bench), { outcome: 'client_gone', usage: { toolCalls: { web_search: 2 } } }, surface)
  }
})

t.test('a grounded answer without usage is billed with its search', async (t) => {
  for (const surface of ['chat', 'messages'] as const)
    for (const stream of [false, true]) {
      const bench = await startBench(t)
      const body = searching[surface]
      const { error } = await askOn(bench, surface, 'google/gemini-2.5-flash;no_usage=1', { stream, body })
      t.equal(error, null)
      t.match(billOf(t, bench), { source: 'estimated', usage: { toolCalls: { grounded_prompt: 1 } } })
    }
})
