import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Surface } from '../../../src/domain/routing/plan.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { clientGoneError } from '../../../src/errors/gateway-error.ts'
import type { RoutedRequest } from '../../../src/roles/dispatch.ts'
import { beginStream, startHostileUpstream } from '../../support/hostile-upstream.ts'
import { namedEvent } from '../../support/scripted-upstream.ts'
import { type Bench, type BenchOptions, billOf, callOf, startBench } from './forwarding.ts'

const text = 'one two three'
/** Far more than was said: most of it is reasoning that nobody sees. */
const reported = { promptTotal: 12, outputTotal: 900, outputReasoning: 890 }

const dataEvent = (json: JsonObject): string => `data: ${JSON.stringify(json)}\n\n`
const chunk = (members: JsonObject): string =>
  dataEvent({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...members })
const choice = (index: number, delta: JsonObject, finishReason: string | null = null): string =>
  chunk({ choices: [{ index, delta, finish_reason: finishReason }] })

const chatUsage = {
  prompt_tokens: 12,
  completion_tokens: 900,
  total_tokens: 912,
  completion_tokens_details: { reasoning_tokens: 890 },
}
const chatEnd = `${chunk({ choices: [], usage: chatUsage })}data: [DONE]\n\n`

const block = (index: number, type: string, member: string, said: string): string =>
  [
    { type: 'content_block_start', index, content_block: { type, [member]: '' } },
    { type: 'content_block_delta', index, delta: { type: `${member}_delta`, [member]: said } },
    { type: 'content_block_stop', index },
  ]
    .map(namedEvent)
    .join('')

const messageStart = namedEvent({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', usage: { input_tokens: 12, output_tokens: 1 } },
})
const messageUsage = { input_tokens: 12, output_tokens: 900, output_tokens_details: { thinking_tokens: 890 } }
const messageDelta = (usage?: JsonObject): string =>
  namedEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage })
const messageStop = namedEvent({ type: 'message_stop' })

const item = (index: number, type: string, members: JsonObject): string =>
  ['added', 'done']
    .map((phase) =>
      namedEvent({
        type: `response.output_item.${phase}`,
        output_index: index,
        item: { id: `i_${index}`, type, ...members },
      }),
    )
    .join('')
const spoken = (members: JsonObject = {}): JsonObject => ({ content: [{ type: 'output_text', text }], ...members })
const responseStart = namedEvent({ type: 'response.created', response: { id: 'resp_1' } })
const responseEnd = namedEvent({
  type: 'response.completed',
  response: {
    id: 'resp_1',
    usage: {
      input_tokens: 12,
      output_tokens: 900,
      output_tokens_details: { reasoning_tokens: 890 },
      total_tokens: 912,
    },
  },
})

const candidates = (said: string, finishReason?: string): JsonObject => ({
  responseId: 'r',
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text: said }] }, finishReason }],
})
const googleUsage = { promptTokenCount: 12, candidatesTokenCount: 10, thoughtsTokenCount: 890, totalTokenCount: 912 }

interface Script {
  readonly surface: Surface
  readonly provider: string
  readonly body?: JsonObject
  /** What the client has read when it leaves. */
  readonly said: string
  /** Has come by then, and was not read. */
  readonly unread?: string
  /** What the upstream says then. */
  readonly end: string
}

const chatSaid = choice(0, { role: 'assistant', content: text }) + choice(0, {}, 'stop')
const messageSaid = messageStart + block(0, 'thinking', 'thinking', 'so') + block(1, 'text', 'text', text)
const googleSaid = dataEvent(candidates(text)) + dataEvent(candidates('', 'STOP'))
const googleEnd = dataEvent({ responseId: 'r', usageMetadata: googleUsage })
const messages: JsonObject = { max_tokens: 1000 }

/** The client leaves when all that is said was said. */
const finished: Readonly<Record<string, Script>> = {
  'chat on openai': { surface: 'chat', provider: 'openai', said: chatSaid, end: chatEnd },
  'chat on openai, two choices': {
    surface: 'chat',
    provider: 'openai',
    body: { n: 2 },
    said: chatSaid + choice(1, { content: text }, 'length'),
    end: chatEnd,
  },
  'chat on openai, the usage so far on each chunk': {
    surface: 'chat',
    provider: 'openai',
    said: chunk({
      choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
    }),
    end: chatEnd,
  },
  'chat on anthropic': { surface: 'chat', provider: 'anthropic', said: messageSaid, end: messageDelta(messageUsage) },
  'chat on google': { surface: 'chat', provider: 'google', said: googleSaid, end: googleEnd },
  'messages on anthropic': {
    surface: 'messages',
    provider: 'anthropic',
    said: messageSaid,
    end: messageDelta(messageUsage) + messageStop,
  },
  'messages on anthropic, its reason to stop apart': {
    surface: 'messages',
    provider: 'anthropic',
    said: messageSaid + messageDelta(),
    end: messageDelta(messageUsage) + messageStop,
  },
  'messages on openai': { surface: 'messages', provider: 'openai', said: chatSaid, end: chatEnd },
  'messages on google': { surface: 'messages', provider: 'google', said: googleSaid, end: googleEnd },
  'responses on openai': {
    surface: 'responses',
    provider: 'openai',
    said: responseStart + item(0, 'reasoning', { summary: [] }) + item(1, 'message', spoken()),
    end: responseEnd,
  },
  'responses on xai, a function call': {
    surface: 'responses',
    provider: 'xai',
    said: responseStart + item(0, 'function_call', { name: 'f', arguments: '{}' }),
    end: responseEnd,
  },
}

/** More is still to be said, or may be. */
const unfinished: Readonly<Record<string, Script>> = {
  'chat, one choice of two': {
    surface: 'chat',
    provider: 'openai',
    body: { n: 2 },
    said: chatSaid + choice(1, { content: 'more' }),
    end: choice(1, {}, 'stop') + chatEnd,
  },
  'chat, two choices asked for and one begun': {
    surface: 'chat',
    provider: 'openai',
    body: { n: 2 },
    said: chatSaid,
    end: chatEnd,
  },
  'messages, behind its thinking': {
    surface: 'messages',
    provider: 'anthropic',
    said: messageStart + block(0, 'thinking', 'thinking', text),
    end: messageDelta(messageUsage) + messageStop,
  },
  'responses, behind its reasoning': {
    surface: 'responses',
    provider: 'openai',
    said: responseStart + item(0, 'reasoning', { summary: [{ type: 'summary_text', text }] }),
    end: responseEnd,
  },
  'responses, behind a comment': {
    surface: 'responses',
    provider: 'openai',
    said: responseStart + item(0, 'message', spoken({ phase: 'commentary' })),
    end: responseEnd,
  },
  'responses, one item of two': {
    surface: 'responses',
    provider: 'openai',
    said:
      responseStart +
      namedEvent({ type: 'response.output_item.added', output_index: 0, item: { type: 'function_call', name: 'f' } }) +
      item(1, 'message', spoken()),
    end: responseEnd,
  },
}

interface Leaving {
  readonly bench: Bench
  readonly call: RoutedRequest
  readonly client: AbortController
  /** The upstream goes on. */
  readonly resume: () => void
  /** Resolves when the upstream's connection is over; true where it was cancelled. */
  readonly cancelled: Promise<boolean>
}

const startLeaving = async (t: Test, script: Script, options: BenchOptions = {}): Promise<Leaving> => {
  const { surface, provider, body = {}, said, unread, end } = script
  const resumed = Promise.withResolvers<void>()
  const cancelled = Promise.withResolvers<boolean>()
  const serve = async (response: ServerResponse): Promise<void> => {
    beginStream(response)
    response.on('close', () => cancelled.resolve(!response.writableFinished))
    response.cork() // What is unread comes with what is read.
    response.write(said)
    if (unread !== undefined) response.write(unread)
    response.uncork()
    await resumed.promise
    response.end(end)
  }
  // A model of Google's stands in the path.
  const baseUrl = await startHostileUpstream(t, { m: serve, undefined: serve })
  const bench = await startBench(t, { baseUrl, ...options })
  const { messages: asked, ...rest } = callOf(`${provider}/m`, { stream: true }).body
  const prompt = surface === 'responses' ? { input: text } : { messages: asked }
  const call = callOf(`${provider}/m`, {
    surface,
    stream: true,
    body: { ...rest, ...prompt, ...(surface === 'messages' ? messages : {}), ...body },
  })
  return { bench, call, client: new AbortController(), resume: resumed.resolve, cancelled: cancelled.promise }
}

/** How a reader ends when its client leaves. */
const readers = {
  /** It waits for the next bytes. */
  waits: async ({ bench, call, client }: Leaving, has: RegExp): Promise<void> => {
    const parts = bench.dispatch(call, client.signal)[Symbol.asyncIterator]()
    let seen = ''
    for (;;) {
      const next = parts.next()
      if (has.test(seen)) {
        client.abort()
        void next.catch((fault: unknown) => fault)
        return
      }
      const { value } = await next
      if (value?.type === 'bytes') seen += Buffer.from(value.bytes)
    }
  },
  /** It has stopped reading, and does not come back. */
  stalls: async ({ bench, call, client }: Leaving): Promise<void> => {
    const parts = bench.dispatch(call, client.signal)[Symbol.asyncIterator]()
    await parts.next()
    await parts.next()
    client.abort()
  },
  /** It ends the answer itself. */
  returns: async ({ bench, call, client }: Leaving): Promise<void> => {
    const parts = bench.dispatch(call, client.signal)[Symbol.asyncIterator]()
    await parts.next()
    await parts.next()
    void parts.return?.()
  },
}

/** The last of what the client is given before the upstream pauses. */
const lastSaid = /finish_reason":"(?:stop|length)"|one two three|"name":"f"/

for (const [name, script] of Object.entries(finished))
  for (const [how, leave] of Object.entries(readers))
    t.test(`${name}: a client that leaves before the usage pays what is reported (it ${how})`, async (t) => {
      const leaving = await startLeaving(t, script)
      await leave(leaving, lastSaid)
      leaving.resume()
      await leaving.bench.inFlight.idle()
      t.match(billOf(t, leaving.bench), {
        outcome: 'client_gone',
        source: 'reported',
        usage: reported,
        attempts: [{ outcome: 'served', reason: null }],
      })
      t.notOk(await leaving.cancelled)
    })

for (const [name, script] of Object.entries(unfinished))
  t.test(`${name}: a client that leaves cancels the upstream, and pays what was said`, async (t) => {
    const leaving = await startLeaving(t, script)
    await readers.waits(leaving, /one two three/)
    t.ok(await leaving.cancelled)
    await leaving.bench.inFlight.idle()
    const { outcome, source, usage } = billOf(t, leaving.bench)
    t.match({ outcome, source }, { outcome: 'client_gone', source: 'estimated' })
    t.ok(usage.outputTotal >= 3 && usage.outputTotal < 20)
  })

const endings: Readonly<Record<string, readonly [BenchOptions, Partial<RoutedRequest>, (leaving: Leaving) => void]>> = {
  'its bound': [{ closingUsageMs: 100 }, {}, () => undefined],
  'a stop': [{}, {}, ({ bench }) => bench.inFlight.shutDown()],
  'the deadline of the request': [{}, { deadlineMs: Date.now() + 1_000 }, () => undefined],
}

for (const [name, [options, members, end]] of Object.entries(endings))
  for (const [how, leave] of Object.entries(readers))
    t.test(`${name} ends the reading on, and what was said is counted (the reader ${how})`, async (t) => {
      for (const script of [
        finished['chat on openai']!,
        finished['messages on google']!,
        finished['responses on openai']!,
      ]) {
        const leaving = await startLeaving(t, script, options)
        const deadlineMs = members.deadlineMs === undefined ? leaving.call.deadlineMs : Date.now() + 200
        await leave({ ...leaving, call: { ...leaving.call, deadlineMs } }, lastSaid)
        t.equal(leaving.bench.log.events.length, 0)
        end(leaving)
        t.ok(await leaving.cancelled)
        await leaving.bench.inFlight.idle()
        t.match(billOf(t, leaving.bench), {
          outcome: 'client_gone',
          source: 'estimated',
          usage: { outputTotal: 3 },
          attempts: [{ outcome: 'served', reason: 'client_gone' }],
        })
      }
    })

t.test('what has come and was not read by a reader that stopped counts', async (t) => {
  for (const [unread, end] of [
    [choice(0, {}, 'stop'), chatEnd],
    [choice(0, {}, 'stop') + chatEnd, ''],
  ] as const) {
    const said = choice(0, { role: 'assistant', content: text })
    const leaving = await startLeaving(t, { surface: 'chat', provider: 'openai', said, unread, end })
    await readers.stalls(leaving)
    leaving.resume()
    await leaving.bench.inFlight.idle()
    t.match(billOf(t, leaving.bench), { outcome: 'client_gone', source: 'reported', usage: reported })
  }
})

t.test('an upstream that breaks off while it is read on is counted', async (t) => {
  const script = finished['chat on openai']!
  for (const end of ['data: {"error":{"message":"no"}}\n\n', 'data: not json\n\n', '']) {
    const leaving = await startLeaving(t, { ...script, end })
    await readers.stalls(leaving)
    leaving.resume()
    await leaving.bench.inFlight.idle()
    t.match(billOf(t, leaving.bench), { outcome: 'client_gone', source: 'estimated', usage: { outputTotal: 3 } })
  }
})

t.test('what an answer reports before its first content is kept, where the client leaves then', async (t) => {
  const called = Promise.withResolvers<void>()
  const serve = (response: ServerResponse): void => {
    beginStream(response)
    response.write(messageStart, () => called.resolve())
  }
  const baseUrl = await startHostileUpstream(t, { m: serve })
  const bench = await startBench(t, { baseUrl, drainMs: 1_000 })
  const client = new AbortController()
  const call = callOf('anthropic/m', { surface: 'messages', stream: true, body: messages })
  const parts = bench.dispatch(call, client.signal)[Symbol.asyncIterator]()
  const next = parts.next().catch((fault: unknown) => fault)
  await called.promise
  client.abort()
  await next
  await bench.inFlight.idle()
  t.match(billOf(t, bench), { outcome: 'client_gone', source: 'estimated', usage: { promptTotal: 12, cacheRead: 0 } })
})

t.test('the reader of an answer that is read on is kept until it is billed', async (t) => {
  const leaving = await startLeaving(t, finished['chat on openai']!)
  const parts = leaving.bench.dispatch(leaving.call, leaving.client.signal)[Symbol.asyncIterator]()
  await parts.next()
  await parts.next()
  let isOver = false
  leaving.client.abort()
  const rest = parts.next().catch((fault: unknown) => {
    isOver = true
    return fault
  })
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.notOk(isOver, 'so that its request keeps its place')
  leaving.resume()
  t.match(await rest, { code: clientGoneError().code, status: 499 })
})
