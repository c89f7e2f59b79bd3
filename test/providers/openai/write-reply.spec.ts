import fc from 'fast-check'
import OpenAI from 'openai'
import t from 'tap'
import { asArray, asObject, isObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import type { ReplyEvent, ReplyPart } from '../../../src/providers/canonical/reply.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { chatClient } from '../../../src/providers/openai/dialect.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { anyReply, eventsOf, replyOf, served, type UsedReply, usage } from '../canonical/replies.ts'

const said = (text: string): ReplyPart => ({ type: 'text', text, citations: [] })
const called = (id: string, signature: string | null = null): ReplyPart => ({
  type: 'tool_call',
  id,
  name: 'find',
  arguments: '{"a":1}',
  signature,
})
const thought: ReplyPart = { type: 'thinking', text: 'hm', signature: 's' }
const callOnWire = (id: string): JsonObject => ({
  id,
  type: 'function',
  function: { name: 'find', arguments: '{"a":1}' },
})

const usageOnWire = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 3 },
  completion_tokens_details: { reasoning_tokens: 2 },
}
const functions = { functions: [{ name: 'find' }] }

const written = (reply: UsedReply, body: JsonObject = {}): JsonObject => chatClient.writeReply(reply, served, body)

const streamed = (reply: UsedReply, body: JsonObject = {}): string => {
  const writer = chatClient.openWriter(served, body)
  return [...eventsOf(reply).map((event) => writer.write(event)), writer.close(reply.usage)].join('')
}

const chunksOf = (stream: string): readonly JsonObject[] =>
  stream
    .split('\n\n')
    .map((block) => parseJson(block.slice('data: '.length)))
    .filter(isObject)

const deltasOf = (reply: UsedReply, body: JsonObject = {}): readonly unknown[] =>
  chunksOf(streamed(reply, body)).map((chunk) => asObject(asArray(chunk['choices'])[0])['delta'])

t.test('a whole answer', async (t) => {
  t.strictSame(written(replyOf([said('Hi')])), {
    id: 'chatcmpl-0199d0a0-0000-7000-8000-000000000001',
    object: 'chat.completion',
    created: 1_760_000_000,
    model: 'alpha/gpt-4o-mini',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hi', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: usageOnWire,
    system_fingerprint: null,
  })
})

t.test('messages', async (t) => {
  const signed = { ...callOnWire('c'), extra_content: { google: { thought_signature: 'sig' } } }
  const table: readonly [readonly ReplyPart[], JsonObject, JsonObject?][] = [
    [[], { content: '' }],
    [[said('a'), said('b')], { content: 'ab' }],
    [[thought, said('a')], { content: 'a', reasoning_content: 'hm' }],
    [[thought, { type: 'redacted_thinking', data: 'x' }], { content: '', reasoning_content: 'hm' }],
    [[called('c')], { content: null, tool_calls: [callOnWire('c')] }],
    [[said('a'), called('c'), called('d')], { content: 'a', tool_calls: [callOnWire('c'), callOnWire('d')] }],
    [[called('c', 'sig')], { content: null, tool_calls: [signed] }],
    [[called('c'), called('d')], { content: null, function_call: { name: 'find', arguments: '{"a":1}' } }, functions],
  ]
  for (const [parts, expected, body] of table) {
    const choice = asObject(asArray(written(replyOf(parts), body)['choices'])[0])
    t.strictSame(choice['message'], { role: 'assistant', refusal: null, ...expected })
  }
})

t.test('a refusal is apart from the content', async (t) => {
  const refusal: ReplyPart = { type: 'text', text: 'No.', citations: [], refusal: true }
  for (const [parts, message, deltas] of [
    [[refusal], { content: null, refusal: 'No.' }, [{ refusal: 'No.' }, {}]],
    [[said('So.'), refusal], { content: 'So.', refusal: 'No.' }, [{ content: 'So.' }, { refusal: 'No.' }, {}]],
  ] as const) {
    t.match(written(replyOf(parts)), { choices: [{ message }] })
    t.strictSame(deltasOf(replyOf(parts)).slice(-deltas.length), deltas)
    const filtered = replyOf(parts, { stop: 'filtered' })
    t.match(written(filtered), { choices: [{ finish_reason: 'stop' }] }, 'as OpenAI ends it')
    t.match(chunksOf(streamed(filtered)).at(-1), { choices: [{ delta: {}, finish_reason: 'stop' }] })
  }
})

t.test('finish reasons', async (t) => {
  const table = [
    ['end', 'stop', {}],
    ['stop_sequence', 'stop', {}],
    ['length', 'length', {}],
    ['tool_calls', 'tool_calls', {}],
    ['tool_calls', 'function_call', functions],
    ['filtered', 'content_filter', {}],
  ] as const
  for (const [stop, expected, body] of table) {
    const reply = replyOf([said('a')], { stop })
    t.match(written(reply, body), { choices: [{ finish_reason: expected }] })
    t.match(chunksOf(streamed(reply, body)).at(-1), { choices: [{ delta: {}, finish_reason: expected }] })
  }
})

const cite = (url: string, title: string | null, range: { start: number; end: number } | null) => ({
  url,
  title,
  citedText: null,
  range,
})
const cited = (start: number, end: number, url: string, title: string): JsonObject => ({
  type: 'url_citation',
  url_citation: { start_index: start, end_index: end, url, title },
})

t.test('citations stand where they stand in the whole content', async (t) => {
  const parts: readonly ReplyPart[] = [
    said('One. '),
    called('c'),
    { type: 'text', text: 'Two. Three.', citations: [cite('u', 'U', { start: 5, end: 11 }), cite('v', null, null)] },
  ]
  const annotations = [cited(10, 16, 'u', 'U'), cited(5, 16, 'v', 'v')]
  t.match(written(replyOf(parts)), { choices: [{ message: { annotations } }] })
  t.strictSame(deltasOf(replyOf(parts)).slice(-2), [{ annotations }, {}])
})

t.test('citations of the first text of a stream begin where it begins', async (t) => {
  const writer = chatClient.openWriter(served, {})
  const events: readonly ReplyEvent[] = [
    { type: 'text', text: 'One. ' },
    { type: 'citation', citation: cite('u', 'U', { start: 0, end: 4 }) },
    { type: 'text', text: 'Two.' },
    { type: 'citation', citation: cite('v', 'V', { start: 5, end: 9 }) },
    { type: 'citation', citation: cite('w', 'W', null) },
    { type: 'stop', reason: 'end', stopSequence: null },
  ]
  const chunks = chunksOf(events.map((event) => writer.write(event)).join(''))
  const [annotated] = chunks.slice(-2).map((chunk) => asObject(asArray(chunk['choices'])[0])['delta'])
  t.strictSame(annotated, { annotations: [cited(0, 4, 'u', 'U'), cited(5, 9, 'v', 'V'), cited(0, 9, 'w', 'W')] })
})

t.test('citations of a stream are bounded', async (t) => {
  const citations = Array.from({ length: providerLimits.replyCitationsMax + 1 }, () => cite('u', null, null))
  const [annotated] = deltasOf(replyOf([{ type: 'text', text: 'x', citations }])).slice(-2)
  t.equal(asArray(asObject(annotated)['annotations']).length, providerLimits.replyCitationsMax)
})

t.test('the chunks of a stream', async (t) => {
  const reply = replyOf([thought, said('Hi'), called('c'), called('d')], { stop: 'tool_calls' })
  const identity = {
    id: 'chatcmpl-0199d0a0-0000-7000-8000-000000000001',
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: 'alpha/gpt-4o-mini',
  }
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...identity,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  })
  const piece = (index: number, text: string) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })
  const begin = (index: number, id: string) =>
    chunk({ tool_calls: [{ index, id, type: 'function', function: { name: 'find', arguments: '' } }] })
  const expected = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'hm' }),
    chunk({ content: 'Hi' }),
    begin(0, 'c'),
    ...['{', '"a":', '1}'].map((text) => piece(0, text)),
    begin(1, 'd'),
    ...['{', '"a":', '1}'].map((text) => piece(1, text)),
    chunk({}, 'tool_calls'),
  ]
  t.strictSame(chunksOf(streamed(reply)), expected)
  t.match(streamed(reply), /\n\ndata: \[DONE\]\n\n$/)
  t.notOk(streamed(reply).includes('usage'))
  t.strictSame(chunksOf(streamed(reply, { stream_options: { include_usage: true } })), [
    ...expected.map((each) => ({ ...each, usage: null })),
    { ...identity, choices: [], usage: usageOnWire },
  ])
})

t.test('the end belongs to close', async (t) => {
  const writer = chatClient.openWriter(served, { stream_options: { include_usage: true } })
  const open = eventsOf(replyOf([said('Hi')])).map((event) => writer.write(event))
  t.notOk(open.join('').includes('[DONE]'))
  t.equal(writer.write({ type: 'usage', usage }), '')
  t.match(writer.close(usage), /^data: \{.*"choices":\[\],"usage":\{.*\}\n\ndata: \[DONE\]\n\n$/)
})

t.test('a stream for deprecated functions', async (t) => {
  t.strictSame(deltasOf(replyOf([called('c'), called('d')], { stop: 'tool_calls' }), functions), [
    { role: 'assistant', content: '' },
    { function_call: { name: 'find', arguments: '' } },
    { function_call: { arguments: '{' } },
    { function_call: { arguments: '"a":' } },
    { function_call: { arguments: '1}' } },
    {},
  ])
})

/** What the official SDK makes of a stream. */
const accumulated = async (stream: string): Promise<JsonObject> => {
  const client = new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://gateway.test/v1',
    fetch: async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
  })
  const run = client.chat.completions.stream({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    stream_options: { include_usage: true },
  })
  for await (const _chunk of run);
  const snapshot = run.currentChatCompletionSnapshot ?? (await run.finalChatCompletion())
  return asObject(parseJson(JSON.stringify(snapshot)))
}

/** Only in a stream is an empty content an empty text; the SDK keeps no reasoning, and gives each call its index. */
const compared = (completion: JsonObject): unknown => {
  const choice = asObject(asArray(completion['choices'])[0])
  const message = asObject(choice['message'])
  return {
    usage: completion['usage'],
    id: completion['id'],
    model: completion['model'],
    finish: choice['finish_reason'],
    content: message['content'] ?? '',
    annotations: message['annotations'] ?? [],
    calls: asArray(message['tool_calls']).map((call) => [
      asObject(call)['id'],
      asObject(asObject(call)['function'])['name'],
      asObject(asObject(call)['function'])['arguments'],
    ]),
  }
}

t.test('the official SDK makes the whole answer of the stream', async (t) => {
  await fc.assert(
    fc.asyncProperty(anyReply, async (reply) => {
      const sdk = await accumulated(streamed(reply, { stream_options: { include_usage: true } }))
      const [one, other] = [compared(sdk), compared(written(reply))].map((each) => JSON.stringify(each))
      if (one !== other) throw new Error(`${one}\n${other}`)
    }),
    propertyRuns(30),
  )
  t.pass()
})

t.test('the reasoning of a stream adds up to that of the whole answer', async () => {
  fc.assert(
    fc.property(anyReply, (reply) => {
      const parts = deltasOf(reply).map((delta) => asObject(delta)['reasoning_content'] ?? '')
      const { reasoning_content } = asObject(asObject(asArray(written(reply)['choices'])[0])['message'])
      return parts.join('') === (reasoning_content ?? '')
    }),
  )
})
