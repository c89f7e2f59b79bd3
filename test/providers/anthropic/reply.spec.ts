import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import t from 'tap'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import { isObject, type JsonObject } from '../../../src/encoding/json.ts'
import { messagesClient, messagesUpstream } from '../../../src/providers/anthropic/dialect.ts'
import type { Reply, ReplyEvent, ReplyPart } from '../../../src/providers/canonical/reply.ts'
import { unmark } from '../../../src/providers/dialect/provider-mark.ts'
import { SseSplitter } from '../../../src/providers/dialect/sse.ts'
import { served, streamOf, targetOf } from './target.ts'

const usage: Usage = {
  ...noUsage,
  inputUncached: 20,
  cacheRead: 5,
  outputTotal: 9,
  outputReasoning: 4,
  promptTotal: 25,
  toolCalls: { web_search: 1 },
}
const started: Usage = { ...noUsage, inputUncached: 25, outputTotal: 1, promptTotal: 25 }
const citation = { url: 'https://a.example', title: 'A', citedText: 'so', range: null }
const parts: readonly ReplyPart[] = [
  { type: 'thinking', text: 'hm', signature: 'sig' },
  { type: 'redacted_thinking', data: 'opaque' },
  { type: 'text', text: 'Hello there', citations: [citation] },
  { type: 'tool_call', id: 'call_1', name: 'find', arguments: '{"a":[1]}', signature: null },
  { type: 'tool_call', id: 'call_2', name: 'find', arguments: '{}', signature: 'gemini' },
]
const reply: Reply & { readonly usage: Usage } = { id: 'x', parts, stop: 'tool_calls', stopSequence: null, usage }

/** The same answer as a stream, its texts in two pieces. */
const eventsOf = (each: ReplyPart): readonly ReplyEvent[] => {
  switch (each.type) {
    case 'text':
      return [
        { type: 'text', text: each.text.slice(0, 3) },
        { type: 'text', text: each.text.slice(3) },
        ...each.citations.map((one) => ({ type: 'citation', citation: one }) as const),
      ]
    case 'thinking':
      return [
        { type: 'thinking', text: each.text },
        ...(each.signature === null ? [] : [{ type: 'signature', signature: each.signature } as const]),
      ]
    case 'redacted_thinking':
      return [each]
    case 'tool_call':
      return [
        { type: 'tool_call', id: each.id, name: each.name, signature: each.signature },
        { type: 'arguments', text: each.arguments.slice(0, 1) },
        { type: 'arguments', text: each.arguments.slice(1) },
      ]
  }
}

const streamed = (
  said: readonly ReplyPart[],
  stop: Reply['stop'] = 'tool_calls',
  stopSequence: string | null = null,
) => {
  const writer = messagesClient.openWriter(served, {})
  const events: readonly ReplyEvent[] = [
    { type: 'start', id: 'x', usage: started },
    ...said.flatMap(eventsOf),
    { type: 'stop', reason: stop, stopSequence },
    { type: 'usage', usage },
  ]
  return events.map((event) => writer.write(event)).join('') + writer.close(usage)
}

const accumulated = (stream: string) =>
  new Anthropic({
    apiKey: 'k',
    baseURL: 'http://gateway.invalid',
    maxRetries: 0,
    fetch: async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
  }).messages
    .stream({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
    .finalMessage()

const caller = { type: 'direct' }

t.test('a whole answer', async (t) => {
  t.strictSame(messagesClient.writeReply(reply, served, {}), {
    id: 'msg_0199d0a0000070008000000000000001',
    type: 'message',
    role: 'assistant',
    model: 'openai/gpt-4o-mini',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'gw1:openai:sig' },
      { type: 'redacted_thinking', data: 'gw1:openai:opaque' },
      {
        type: 'text',
        text: 'Hello there',
        citations: [
          {
            type: 'web_search_result_location',
            url: 'https://a.example',
            title: 'A',
            cited_text: 'so',
            encrypted_index: '',
          },
        ],
      },
      { type: 'tool_use', id: 'call_1', name: 'find', input: { a: [1] }, caller },
      { type: 'tool_use', id: 'call_2', name: 'find', input: {}, caller, signature: 'gw1:openai:gemini' },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 20,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 5,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
      server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 },
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      service_tier: 'standard',
      inference_geo: null,
      speed: null,
    },
  })
})

t.test('the order of a stream', async (t) => {
  const names = [...streamed(parts.slice(2, 4)).matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, name, data]) => {
    const { type, index } = JSON.parse(data ?? '') as JsonObject
    t.equal(type, name)
    return index === undefined ? name : `${name} ${index}`
  })
  t.strictSame(names, [
    'message_start',
    'content_block_start 0',
    'content_block_delta 0',
    'content_block_delta 0',
    'content_block_delta 0',
    'content_block_stop 0',
    'content_block_start 1',
    'content_block_delta 1',
    'content_block_delta 1',
    'content_block_stop 1',
    'message_delta',
    'message_stop',
  ])
})

t.test('the official SDK reads the stream as the whole answer', async (t) => {
  const message = JSON.parse(JSON.stringify(await accumulated(streamed(parts)))) as JsonObject
  const { parsed_output: _parsed, ...read } = message
  t.strictSame(read, messagesClient.writeReply(reply, served, {}))
})

t.test('a stream without a start, or with nothing said, is one all the same', async (t) => {
  const bare = messagesClient.openWriter(served, {})
  const stream = bare.write({ type: 'text', text: 'Hi' }) + bare.close(usage)
  t.match(await accumulated(stream), { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' })
  const silent = messagesClient.openWriter(served, {})
  t.match(await accumulated(silent.write({ type: 'text', text: '' }) + silent.close(usage)), { content: [] })
})

const stops: readonly [Reply['stop'], string][] = [
  ['end', 'end_turn'],
  ['stop_sequence', 'stop_sequence'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['filtered', 'refusal'],
]

t.test('why it ended', async (t) => {
  for (const [stop, word] of stops) {
    const stopSequence = stop === 'stop_sequence' ? 'END' : null
    const whole = messagesClient.writeReply({ ...reply, stop, stopSequence }, served, {})
    t.strictSame([whole['stop_reason'], whole['stop_sequence']], [word, stopSequence])
    t.match(messagesUpstream.readReply(targetOf(), whole), { stop, stopSequence })
    t.match(streamed([], stop, stopSequence), `"stop_reason":"${word}","stop_sequence":${JSON.stringify(stopSequence)}`)
  }
  const readStop = (word: unknown) => messagesUpstream.readReply(targetOf(), { content: [], stop_reason: word })
  t.match(readStop('pause_turn'), { stop: 'end' })
  t.match(readStop('model_context_window_exceeded'), { stop: 'length' })
  t.match(readStop('constructor'), { stop: 'end' })
})

t.test('a whole answer is read', async (t) => {
  const read = messagesUpstream.readReply(targetOf(), {
    id: 'msg_abc',
    content: [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      {
        type: 'text',
        text: 'So',
        citations: [
          {
            type: 'web_search_result_location',
            url: 'https://a.example',
            title: 'A',
            cited_text: 'so',
            encrypted_index: 'e',
          },
          { type: 'char_location', document_index: 0, cited_text: 'own' },
          { type: 'search_result_location', source: 'https://s.example', title: null, cited_text: 's' },
        ],
      },
      { type: 'tool_use', id: 'toolu_1', name: 'find', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 4 },
  })
  t.strictSame(read, {
    id: 'abc',
    parts: [
      {
        type: 'text',
        text: 'So',
        citations: [citation, { ...citation, url: 'https://s.example', title: null, citedText: 's' }],
      },
      { type: 'tool_call', id: 'toolu_1', name: 'find', arguments: '{"a":1}', signature: null },
    ],
    stop: 'tool_calls',
    stopSequence: null,
    usage: { ...noUsage, inputUncached: 3, outputTotal: 4, promptTotal: 3 },
    toolCalls: { web_search: 1 },
  })
  t.strictSame(messagesUpstream.readReply(targetOf(), { type: 'error', error: {} }), { fault: 'error_in_answer' })
  t.strictSame(messagesUpstream.readReply(targetOf(), {}), { fault: 'no_content' })
})

const readStream = (stream: string) => {
  const reader = messagesUpstream.openReader(targetOf())
  const said: ReplyEvent[] = []
  for (const event of new SseSplitter().push(Buffer.from(stream))) {
    const read = reader.read(event)
    if (isObject(read)) return { reader, said, fault: (read as JsonObject)['fault'] }
    if (Array.isArray(read)) said.push(...read)
  }
  return { reader, said, fault: null }
}

t.test('a stream is read', async (t) => {
  const start = {
    type: 'message_start',
    message: { id: 'msg_abc', usage: { input_tokens: 20, cache_read_input_tokens: 5, output_tokens: 1 } },
  }
  const { reader, said } = readStream(
    `: hi\n\n${streamOf([
      start,
      { type: 'ping' },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'server_tool_use', name: 'web_search', input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"query":1}' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'signature_delta', signature: 'sig' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't', name: 'now', input: {} } },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
      { type: 'content_block_stop', index: 2 },
      { type: 'new_event' },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 9, server_tool_use: { web_search_requests: 1 } },
      },
      { type: 'message_stop' },
    ])}`,
  )
  const input = { ...noUsage, inputUncached: 20, cacheRead: 5, promptTotal: 25 }
  t.strictSame(said, [
    { type: 'start', id: 'abc', usage: input },
    { type: 'signature', signature: 'sig' },
    { type: 'tool_call', id: 't', name: 'now', signature: null },
    { type: 'arguments', text: '{}' },
    { type: 'stop', reason: 'tool_calls', stopSequence: null },
    { type: 'usage', usage: { ...input, outputTotal: 9, toolCalls: { web_search: 1 } } },
  ])
  t.ok(reader.isDone && reader.isFinished)
})

t.test('searches are told as they succeed, and an end without figures is no usage', async (t) => {
  const result = (content: unknown) => ({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'web_search_tool_result', tool_use_id: 's', content },
  })
  const failed = { type: 'web_search_tool_result_error', error_code: 'unavailable' }
  const { said } = readStream(
    streamOf([
      { type: 'message_start', message: { id: 'msg_abc', usage: { input_tokens: 20, output_tokens: 1 } } },
      result([]),
      result(failed),
      result([{ type: 'web_search_result' }]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} },
      { type: 'message_stop' },
    ]),
  )
  t.strictSame(said.slice(1), [
    { type: 'built_in_calls', toolCalls: { web_search: 1 } },
    { type: 'built_in_calls', toolCalls: { web_search: 2 } },
    { type: 'stop', reason: 'end', stopSequence: null },
  ])
})

t.test('a stream that fails', async (t) => {
  t.equal(readStream(streamOf([{ type: 'error', error: { type: 'overloaded_error' } }])).fault, 'error_in_stream')
  t.equal(readStream('data: {no\n\n').fault, 'not_json')
})

/** Pieces of one text joined, so that two streams can be compared. */
const joined = (events: readonly ReplyEvent[]): readonly ReplyEvent[] => {
  const whole: ReplyEvent[] = []
  for (const event of events) {
    const last = whole.at(-1)
    const isPiece = event.type === 'text' || event.type === 'thinking' || event.type === 'arguments'
    if (isPiece && last?.type === event.type) whole.splice(-1, 1, { ...last, text: last.text + event.text })
    else whole.push(event)
  }
  return whole
}

/** What proves who made it goes to the client behind the name of the provider. */
const unmarked = (event: ReplyEvent): ReplyEvent => {
  if (event.type === 'signature') return { ...event, signature: unmark(served.provider, event.signature) ?? '' }
  return event.type === 'redacted_thinking' ? { ...event, data: unmark(served.provider, event.data) ?? '' } : event
}

/** Generated objects have no prototype. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const said = fc.string({ minLength: 1, maxLength: 12 })
const part: fc.Arbitrary<ReplyPart> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: said, citations: fc.constantFrom([], [citation]) }),
  fc.record({ type: fc.constant('thinking' as const), text: said, signature: said }),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: said }),
  fc.record({
    type: fc.constant('tool_call' as const),
    id: said,
    name: said,
    arguments: fc.dictionary(said, fc.jsonValue()).map((input) => JSON.stringify(input)),
    signature: fc.constant(null),
  }),
)

t.test('what is written is read as it was', async () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (each) => {
      const events = each.flatMap(eventsOf).filter((event) => !('text' in event) || event.text !== '')
      const ends: readonly ReplyEvent[] = [
        { type: 'stop', reason: 'end', stopSequence: null },
        { type: 'usage', usage },
      ]
      const read = readStream(streamed(each, 'end')).said.slice(1).map(unmarked)
      assert.deepEqual(plain(joined(read)), plain(joined([...events, ...ends])))
    }),
    { numRuns: 200 },
  )
})
