import fc from 'fast-check'
import t from 'tap'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { Reply, ReplyEvent, ReplyPart, StopReason } from '../../../src/providers/canonical/reply.ts'
import type { AnswerFault } from '../../../src/providers/dialect/dialect.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'
import { SseSplitter } from '../../../src/providers/dialect/sse.ts'
import { readChatReply } from '../../../src/providers/openai/read-reply.ts'
import { ChatReplyReader } from '../../../src/providers/openai/read-reply-stream.ts'
import { targetOf } from './target.ts'

const told = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
const usage = { ...noUsage, inputUncached: 5, promptTotal: 5, outputTotal: 2 }
const completion = (message: JsonObject, finish = 'stop', more: JsonObject = {}): JsonObject => ({
  id: 'chatcmpl-7',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  usage: told,
  ...more,
})
const read = (json: JsonObject, profile?: Profile): Reply | AnswerFault => readChatReply(targetOf(profile), json)
const call = (given: JsonObject): JsonObject => ({ type: 'function', ...given })
const find = { name: 'find', arguments: '{"a":1}' }
const said = (text: string): ReplyPart => ({ type: 'text', text, citations: [] })
const refused = (text: string): ReplyPart => ({ type: 'text', text, citations: [], refusal: true })
const called = (id: string, given = '{"a":1}', signature: string | null = null): ReplyPart => ({
  type: 'tool_call',
  id,
  name: 'find',
  arguments: given,
  signature,
})

t.test('a whole answer', async (t) => {
  const table: readonly [JsonObject, readonly ReplyPart[], StopReason, string?][] = [
    [{ content: 'Hi' }, [said('Hi')], 'end'],
    [{ content: '' }, [], 'end'],
    [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      [said('ab')],
      'end',
    ],
    [
      { content: 'Hi', reasoning_content: 'hm' },
      [{ type: 'thinking', text: 'hm', signature: null }, said('Hi')],
      'end',
    ],
    [{ content: 'Hi', reasoning: 'hm' }, [{ type: 'thinking', text: 'hm', signature: null }, said('Hi')], 'end'],
    [{ content: null, refusal: 'No.' }, [refused('No.')], 'filtered'],
    [{ content: 'So.', refusal: 'No.' }, [said('So.'), refused('No.')], 'filtered'],
    [{ content: 'H' }, [said('H')], 'length', 'length'],
    [{ content: 'H' }, [said('H')], 'filtered', 'content_filter'],
    [{ content: 'H' }, [said('H')], 'end', 'something_new'],
    [{ tool_calls: [call({ id: 'c', function: find })] }, [called('c')], 'tool_calls', 'tool_calls'],
    [{ tool_calls: [call({ id: 'c', function: find })] }, [called('c')], 'tool_calls', 'stop'],
    [{ tool_calls: [call({ id: 'c', function: find })] }, [called('c')], 'length', 'length'],
    [{ tool_calls: [call({ function: { name: 'find', arguments: '' } })] }, [called('call_7_0', '{}')], 'tool_calls'],
    [
      { tool_calls: [call({ id: 'c', function: find, extra_content: { google: { thought_signature: 's' } } })] },
      [called('c', '{"a":1}', 's')],
      'tool_calls',
    ],
  ]
  for (const [message, parts, stop, finish] of table)
    t.strictSame(read(completion(message, finish)), { id: '7', parts, stop, stopSequence: null, usage })
})

t.test('citations', async (t) => {
  const annotations = [
    { type: 'url_citation', url_citation: { url: 'https://x.test', title: 'X', start_index: 0, end_index: 2 } },
    { type: 'url_citation', url_citation: { url: 'https://y.test' } },
    { type: 'file_citation', file_citation: {} },
  ]
  const reply = read(completion({ content: 'Hi', annotations }))
  t.strictSame('parts' in reply && reply.parts, [
    {
      type: 'text',
      text: 'Hi',
      citations: [
        { url: 'https://x.test', title: 'X', citedText: null, range: { start: 0, end: 2 } },
        { url: 'https://y.test', title: null, citedText: null, range: null },
      ],
    },
  ])
})

t.test('usage is that of the profile; none is none', async (t) => {
  const raw = {
    prompt_tokens: 12,
    completion_tokens: 1,
    total_tokens: 303,
    completion_tokens_details: { reasoning_tokens: 290 },
  }
  const reply = read(completion({ content: 'x' }, 'stop', { usage: raw }), 'xai')
  t.match(reply, { usage: { outputTotal: 291, outputReasoning: 290 } })
  t.match(read(completion({ content: 'x' }, 'stop', { usage: null })), { usage: null })
})

t.test('answers that are none', async (t) => {
  t.strictSame(read({ error: { message: 'no' } }), { fault: 'error_in_answer' })
  t.strictSame(read({ choices: [] }), { fault: 'no_choices' })
  t.strictSame(read({ hello: 1 }), { fault: 'no_choices' })
})

const event = (value: JsonObject): string => `data: ${JSON.stringify(value)}\n\n`
const chunk = (delta: JsonObject, finish: string | null = null, more: JsonObject = {}): string =>
  event({ id: 'chatcmpl-7', choices: [{ index: 0, delta, finish_reason: finish }], ...more })
const usageChunk = event({ id: 'chatcmpl-7', choices: [], usage: told })
const done = 'data: [DONE]\n\n'
const piece = (index: unknown, given: string, more: JsonObject = {}, name?: string): string =>
  chunk({ tool_calls: [{ index, ...more, function: { ...(name === undefined ? {} : { name }), arguments: given } }] })

interface Heard {
  readonly events: readonly ReplyEvent[]
  readonly fault: string | null
  readonly reader: ChatReplyReader
}

const hear = (bytes: Uint8Array | string, profile?: Profile, cuts: readonly number[] = []): Heard => {
  const reader = new ChatReplyReader(targetOf(profile))
  const splitter = new SseSplitter()
  const whole = Buffer.from(bytes)
  const places = [0, ...cuts, whole.length]
  const events: ReplyEvent[] = []
  for (let at = 1; at < places.length; at += 1)
    for (const each of splitter.push(whole.subarray(places[at - 1], places[at]))) {
      const heard = reader.read(each)
      if ('fault' in heard) return { events, fault: heard.fault, reader }
      events.push(...heard)
    }
  return { events, fault: null, reader }
}

const start: ReplyEvent = { type: 'start', id: '7', usage: null }
const stop = (reason: StopReason = 'end'): ReplyEvent => ({ type: 'stop', reason, stopSequence: null })
const text = (value: string): ReplyEvent => ({ type: 'text', text: value })
const begin = (id: string, name = 'find', signature: string | null = null): ReplyEvent => ({
  type: 'tool_call',
  id,
  name,
  signature,
})
const given = (value: string): ReplyEvent => ({ type: 'arguments', text: value })
const heardUsage: ReplyEvent = { type: 'usage', usage }

t.test('a stream', async (t) => {
  const hello = chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hel' }) + chunk({ content: 'lo' })
  const table: readonly [string, string, readonly ReplyEvent[]][] = [
    ['text', hello, [text('Hel'), text('lo'), stop()]],
    [
      'thinking',
      chunk({ reasoning_content: 'hm' }) + chunk({ reasoning: 'm' }) + chunk({ content: 'x' }),
      [{ type: 'thinking', text: 'hm' }, { type: 'thinking', text: 'm' }, text('x'), stop()],
    ],
    ['a refusal', chunk({ refusal: 'No' }), [{ type: 'text', text: 'No', refusal: true }, stop('filtered')]],
    [
      'a citation',
      chunk({ content: 'x' }) + chunk({ annotations: [{ type: 'url_citation', url_citation: { url: 'u' } }] }),
      [text('x'), { type: 'citation', citation: { url: 'u', title: null, citedText: null, range: null } }, stop()],
    ],
    [
      'calls one after the other stream at once',
      piece(0, '', { id: 'a' }, 'find') + piece(0, '{"a"') + piece(0, ':1}') + piece(1, '{}', { id: 'b' }, 'find'),
      [begin('a'), given('{"a"'), given(':1}'), begin('b'), given('{}'), stop('tool_calls')],
    ],
    [
      'calls without arguments',
      piece(0, '', { id: 'a' }, 'find') + piece(1, '', { id: 'b' }, 'find'),
      [begin('a'), given('{}'), begin('b'), given('{}'), stop('tool_calls')],
    ],
    [
      'calls that come mixed: the second waits',
      piece(0, '{"a', { id: 'a' }, 'find') + piece(1, '{"b', { id: 'b' }, 'find') + piece(0, '":1}') + piece(1, '":2}'),
      [begin('a'), given('{"a'), given('":1}'), begin('b'), given('{"b":2}'), stop('tool_calls')],
    ],
    [
      'text inside a call waits',
      piece(0, '{"a', { id: 'a' }, 'find') + chunk({ content: 'x' }) + piece(0, '":1}') + chunk({ content: 'y' }),
      [begin('a'), given('{"a'), given('":1}'), text('x'), text('y'), stop('tool_calls')],
    ],
    [
      'text behind a whole call ends it',
      piece(0, '{}', { id: 'a' }, 'find') + chunk({ content: 'x' }) + piece(0, ''),
      [begin('a'), given('{}'), text('x'), stop('tool_calls')],
    ],
    [
      'the index 0 for every call, told apart by ids',
      piece(0, '{}', { id: 'a' }, 'find') + piece(0, '{"b":2}', { id: 'b' }, 'find'),
      [begin('a'), given('{}'), begin('b'), given('{"b":2}'), stop('tool_calls')],
    ],
    [
      'no index and no ids',
      piece(undefined, '{"a":1}', {}, 'find') + piece(undefined, '{"b"', {}, 'find') + piece(undefined, ':2}'),
      [begin('call_7_0'), given('{"a":1}'), begin('call_7_1'), given('{"b"'), given(':2}'), stop('tool_calls')],
    ],
    [
      'an id in every piece',
      piece(0, '{"a"', { id: 'a' }, 'find') + piece(0, ':1}', { id: 'a' }, 'find'),
      [begin('a'), given('{"a"'), given(':1}'), stop('tool_calls')],
    ],
    [
      'a signature',
      piece(0, '{}', { id: 'a', extra_content: { google: { thought_signature: 's' } } }, 'find'),
      [begin('a', 'find', 's'), given('{}'), stop('tool_calls')],
    ],
  ]
  for (const [name, pieces, expected] of table) {
    const { events, fault, reader } = hear(pieces + chunk({}, 'stop') + usageChunk + done)
    t.strictSame(events, [start, ...expected, heardUsage], name)
    t.strictSame([fault, reader.isFinished, reader.isDone], [null, true, true])
  }
})

t.test('ends', async (t) => {
  const finished = hear(chunk({ content: 'x' }, 'length'))
  t.strictSame(finished.events, [start, text('x'), stop('length')])
  t.strictSame([finished.reader.isFinished, finished.reader.isDone], [true, false], 'usage may still come')
  t.strictSame(hear(chunk({ content: 'x' }) + done).events, [start, text('x'), stop()], 'a forgotten finish')
  const late = hear(chunk({ content: 'x' }, 'stop') + chunk({ content: 'y' }, 'stop') + done)
  t.strictSame(late.events, [start, text('x'), stop()], 'nothing follows the end')
  const other = event({ id: 'chatcmpl-7', choices: [{ index: 1, delta: { content: 'b' }, finish_reason: 'stop' }] })
  t.strictSame(
    hear(other + chunk({ content: 'a' }, 'stop')).events,
    [start, text('a'), stop()],
    'the first choice alone',
  )
})

t.test('usage that is repeated', async (t) => {
  const at = (completion: number): string =>
    chunk({ content: 'x' }, null, { usage: { ...told, completion_tokens: completion, total_tokens: 5 + completion } })
  const { events } = hear(at(1) + at(2), 'gemini')
  t.strictSame(
    events.map((each) => (each.type === 'usage' ? each.usage.outputTotal : each.type)),
    ['start', 'text', 1, 'text', 2],
  )
})

t.test('faults', async (t) => {
  const many = Array.from({ length: providerLimits.replyToolCallsMax + 1 }, (_, index) =>
    piece(index, '{}', {}, 'find'),
  )
  const large = 'x'.repeat(providerLimits.replyHeldCharactersMax)
  const table: readonly [string, string][] = [
    [event({ error: { message: 'no' } }), 'error_in_stream'],
    [chunk({ content: 'x' }) + event({ error: { message: 'no' } }), 'error_in_stream'],
    ['event: error\ndata: {"message":"no"}\n\n', 'error_in_stream'],
    ['data: {nonsense\n\n', 'not_json'],
    [event({ hello: 1 }), 'not_a_chat_stream'],
    [done, 'empty_answer'],
    [many.join(''), 'too_many_tool_calls'],
    [piece(0, large, {}, 'find') + piece(0, 'x'), 'answer_too_large'],
    [piece(0, '{"a', {}, 'find') + chunk({ content: large }), 'answer_too_large'],
    [piece(0, '{}', {}, 'find') + chunk({ content: 'x' }) + piece(0, '{}'), 'tool_call_out_of_order'],
    [piece(0, '{}') + chunk({}, 'stop'), 'tool_call_without_name'],
  ]
  for (const [pieces, fault] of table) t.equal(hear(pieces).fault, fault)
})

t.test('a name that comes late', async (t) => {
  const { events } = hear(piece(0, '{"a"', { id: 'a' }) + piece(0, ':1}', {}, 'find') + chunk({}, 'stop'))
  t.strictSame(events, [start, begin('a'), given('{"a":1}'), stop('tool_calls')])
})

t.test('any cut gives the same events', async () => {
  const full =
    `: wait\n\n${chunk({ reasoning_content: 'hé' })}${chunk({ content: 'naïve 🙂' })}` +
    `${piece(0, '{"a', { id: 'a' }, 'find')}${piece(1, '{"b":2}', { id: 'b' }, 'find')}${piece(0, '":1}')}` +
    `${chunk({}, 'tool_calls')}${usageChunk}${done}`
  for (const bytes of [full, full.replaceAll('\n', '\r\n')].map((each) => Buffer.from(each))) {
    const whole = JSON.stringify(hear(bytes).events)
    for (let at = 1; at < bytes.length; at += 1)
      if (JSON.stringify(hear(bytes, 'openai', [at]).events) !== whole) throw new Error(`cut at ${at}`)
  }
})

interface Planned {
  readonly name: string
  readonly pieces: readonly string[]
}

const planned: fc.Arbitrary<Planned> = fc
  .record({
    name: fc.constantFrom('find', 'now'),
    json: fc.dictionary(fc.string(), fc.string()),
    cuts: fc.array(fc.nat(40)),
  })
  .map(({ name, json, cuts }) => {
    const text = JSON.stringify(json)
    const places = [0, ...cuts.filter((cut) => cut < text.length), text.length].sort((a, b) => a - b)
    return { name, pieces: places.slice(1).map((end, at) => text.slice(places[at], end)) }
  })

t.test('calls come out whole and in order, however their pieces are mixed', async () => {
  fc.assert(
    fc.property(fc.array(planned, { minLength: 1, maxLength: 4 }), fc.infiniteStream(fc.nat()), (calls, dice) => {
      const queues = calls.map(({ name, pieces }, index) => [
        piece(index, '', { id: `c${index}` }, name),
        ...pieces.map((each) => piece(index, each)),
      ])
      const heads = queues.map((queue) => queue.shift() ?? '').join('')
      let mixed = ''
      while (queues.some((queue) => queue.length > 0)) {
        const filled = queues.filter((queue) => queue.length > 0)
        mixed += filled[(dice.next().value ?? 0) % filled.length]?.shift() ?? ''
      }
      const { events, fault } = hear(heads + mixed + chunk({}, 'tool_calls'))
      const texts = new Map<string, string>()
      for (const each of events) {
        if (each.type === 'tool_call') texts.set(each.id, '')
        const last = [...texts.keys()].at(-1) ?? ''
        if (each.type === 'arguments') texts.set(last, (texts.get(last) ?? '') + each.text)
      }
      const expected = calls.map(({ pieces }, index) => [`c${index}`, pieces.join('')])
      return fault === null && JSON.stringify([...texts]) === JSON.stringify(expected)
    }),
  )
})
