import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Usage } from '../../../src/domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import type { Reply, ReplyEvent, ReplyPart } from '../../../src/providers/canonical/reply.ts'
import { responsesClient } from '../../../src/providers/openai-responses/dialect.ts'
import { begunResponse } from '../../../src/providers/openai-responses/response.ts'
import { openSealedReasoning } from '../../../src/providers/openai-responses/sealed-reasoning.ts'
import { ResponsesReplyWriter } from '../../../src/providers/openai-responses/write-reply.ts'
import { problemsOfResponse, problemsOfResponsesEvent } from '../../reference/responses-contract.ts'
import { anyReply, eventsOf, replyOf, served, usage } from '../canonical/replies.ts'

const body = {
  model: 'alpha/gpt-4o-mini',
  input: 'Hi',
  tools: [
    { type: 'function', name: 'find', parameters: { type: 'object', properties: {} } },
    { type: 'custom', name: 'patch' },
    { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
  ],
  metadata: { a: 'b' },
  temperature: 0.5,
}

const whole = (reply: Parameters<typeof responsesClient.writeReply>[0]): JsonObject =>
  responsesClient.writeReply(reply, served, body)

const writeStream = (events: readonly ReplyEvent[], billed: Usage, asked: JsonObject = body): string => {
  const writer = finishSteps(ResponsesReplyWriter.open(served, asked))
  const written = [...writer.begin(), ...events.map((event) => Buffer.from(writer.write(event)))]
  return Buffer.concat([...written, ...writer.close(billed)]).toString()
}

const streamed = (reply: Reply, billed = usage, first: readonly ReplyEvent[] = []): readonly JsonObject[] =>
  writeStream([...first, ...eventsOf(reply)], billed)
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const [name = '', data = ''] = event.split('\ndata: ')
      const json = asObject(JSON.parse(data))
      if (name !== `event: ${json['type']}`) throw new Error(`${name} has the type ${json['type']}`)
      return json
    })

const call = (name: string, given: string, signature: string | null = null): ReplyPart => ({
  type: 'tool_call',
  id: 'call_1',
  name,
  arguments: given,
  signature,
})
const itemsOf = (...parts: readonly ReplyPart[]): readonly JsonObject[] =>
  asArray(whole(replyOf(parts))['output']).filter(isObject)

t.test('the response of each event is written as its JSON', async (t) => {
  const asked: JsonObject = {
    ...body,
    instructions: 'Grüße, "中" 🙂\n',
    tools: [...body.tools, { type: 'function', name: 'long', description: '中"\\'.repeat(200_000) }],
    user: 'u',
    reasoning: { effort: 'low' },
    text: { verbosity: 'low' },
    top_p: undefined,
  }
  for (const stop of ['end', 'length'] as const) {
    const reply = replyOf([{ type: 'text', text: 'A', citations: [] }], { stop })
    const text = writeStream(eventsOf(reply), usage, asked)
    const begun = { ...begunResponse(served, asked), status: 'in_progress' }
    const responses = [begun, begun, responsesClient.writeReply(reply, served, asked)]
    const events = text.split('\n\n').filter((event) => event.includes('"response":{"id"'))
    t.equal(events.length, responses.length)
    for (const [place, response] of responses.entries()) {
      const [name = '', data = ''] = (events[place] ?? '').split('\ndata: ')
      const { type, sequence_number } = asObject(JSON.parse(data))
      t.equal(name, `event: ${type}`)
      t.ok(data === JSON.stringify({ type, sequence_number, response }), `${stop}: ${type}`)
    }
  }
})

t.test('text with its citations', async (t) => {
  const citation = { url: 'https://a.example', title: null, citedText: null }
  const [message] = itemsOf(
    { type: 'text', text: 'North.', citations: [{ ...citation, range: null }] },
    { type: 'text', text: ' Or so.', citations: [{ ...citation, range: { start: 1, end: 3 } }] },
  )
  const [part] = asArray(message?.['content']).filter(isObject)
  t.match(message, { type: 'message', role: 'assistant', status: 'completed' })
  t.match(part, { type: 'output_text', text: 'North. Or so.', logprobs: [] })
  t.same(
    asArray(part?.['annotations']).map((each) => [asObject(each)['start_index'], asObject(each)['end_index']]),
    [
      [0, 6],
      [7, 9],
    ],
  )
})

t.test('calls of functions, of custom tools and of tools in a namespace', async (t) => {
  const [found, patched, read, unknown] = itemsOf(
    call('find', '{"a":1}'),
    call('patch', '{"input":"*** Begin"}'),
    call('files__read', '{}'),
    call('other', '{}'),
  )
  t.match(found, { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{"a":1}', status: 'completed' })
  t.match(patched, { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '*** Begin' })
  t.match(read, { type: 'function_call', name: 'read', namespace: 'files' })
  t.match(unknown, { type: 'function_call', name: 'other' })
  t.match(itemsOf(call('patch', 'no JSON'))[0], { input: 'no JSON' })
})

t.test('what a model needs back is sealed for its provider', async (t) => {
  const sealedIn = (item: JsonObject | undefined, provider = served.provider) =>
    openSealedReasoning(provider, item?.['encrypted_content'])
  const [thought, hidden, signed, signedCall] = itemsOf(
    { type: 'thinking', text: 'Hm.', signature: 's1' },
    { type: 'redacted_thinking', data: 'd1' },
    call('find', '{}', 's2'),
  )
  t.match(thought, { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] })
  t.same(sealedIn(thought), { type: 'thinking', text: 'Hm.', signature: 's1' })
  t.same([hidden?.['summary'], sealedIn(hidden)], [[], { type: 'redacted_thinking', data: 'd1' }])
  t.same(sealedIn(signed), { type: 'call_signature', callId: 'call_1', signature: 's2' })
  t.equal(signedCall?.['type'], 'function_call')
  t.equal(sealedIn(thought, 'beta'), null)
  const [unsigned] = itemsOf({ type: 'thinking', text: 'Hm.', signature: null })
  t.notOk(unsigned && 'encrypted_content' in unsigned)
})

t.test('how an answer ended', async (t) => {
  const endOf = (stop: Reply['stop']) => {
    const {
      status,
      incomplete_details: details,
      output,
    } = whole(replyOf([{ type: 'text', text: 'A', citations: [] }], { stop }))
    return [status, asObject(details)['reason'], asObject(asArray(output)[0])['status']]
  }
  t.same(endOf('end'), ['completed', undefined, 'completed'])
  t.same(endOf('tool_calls'), ['completed', undefined, 'completed'])
  t.same(endOf('length'), ['incomplete', 'max_output_tokens', 'incomplete'])
  t.same(endOf('filtered'), ['incomplete', 'content_filter', 'incomplete'])
})

const problemsOf = (answer: JsonObject, stream: readonly JsonObject[]): readonly string[] => {
  const tools = asArray(answer['tools']).slice(0, 1)
  const events = stream.map((event) =>
    isObject(event['response']) ? { ...event, response: { ...event['response'], tools } } : event,
  )
  return [...problemsOfResponse({ ...answer, tools }), ...events.flatMap(problemsOfResponsesEvent)]
}

t.test('a refusal is a part of its own', async (t) => {
  const refusal: ReplyPart = { type: 'text', text: 'No.', citations: [], refusal: true }
  const reply = replyOf([{ type: 'text', text: 'So.', citations: [] }, refusal], { stop: 'filtered' })
  const [answer, stream] = [whole(reply), streamed(reply)]
  t.match(answer['output'], [
    { type: 'message', content: [{ type: 'output_text', text: 'So.' }] },
    { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
  ])
  t.same(asObject(stream.at(-1)?.['response']), answer)
  t.match(
    stream.map(({ type }) => type).filter((type) => /refusal/.test(String(type))),
    ['response.refusal.delta', 'response.refusal.done'],
  )
  t.same(problemsOf(answer, stream), [])
  t.match(answer, { status: 'completed', incomplete_details: null }, 'as OpenAI ends it')
  t.match(answer['output'], [{ status: 'completed' }, { status: 'completed' }])
  t.equal(whole({ ...reply, stop: 'length' })['status'], 'incomplete')
})

t.test('a citation is placed in the text that it came with, refusals left out', async (t) => {
  const refusal: ReplyPart = { type: 'text', text: 'No.', citations: [], refusal: true }
  const citation = { url: 'https://a.example', title: null, citedText: null, range: { start: 0, end: 2 } }
  const [, , last] = itemsOf({ type: 'text', text: 'So.', citations: [] }, refusal, {
    ...{ type: 'text', text: 'Yes', citations: [citation] },
  })
  t.match(last, { content: [{ annotations: [{ start_index: 0, end_index: 2 }] }] })
})

t.test('each search that is charged is an item', async (t) => {
  const reply = replyOf([{ type: 'text', text: 'North.', citations: [] }])
  for (const toolCalls of [{ web_search: 2 }, { grounding_query: 2 }, { web_search_medium: 1, grounded_prompt: 1 }]) {
    const billed = { ...usage, toolCalls }
    const answer = whole({ ...reply, usage: billed })
    const stream = streamed(reply, billed)
    const searched = { type: 'web_search_call', status: 'completed', action: { type: 'search' } }
    t.match(answer['output'], [searched, searched, { type: 'message' }])
    t.match(asObject(stream.at(-1)?.['response'])['output'], [{ type: 'message' }, searched, searched])
    t.same(problemsOf(answer, stream), [])
  }
  const found: ReplyEvent = { type: 'built_in_calls', toolCalls: { web_search: 1 } }
  const inOrder = streamed(reply, { ...usage, toolCalls: { web_search: 1 } }, [found])
  t.match(asObject(inOrder.at(-1)?.['response'])['output'], [{ type: 'web_search_call' }, { type: 'message' }])
})

t.test('a search that is reported within a text leaves it whole, and comes before the next item', async (t) => {
  const searched = (web_search: number): ReplyEvent => ({ type: 'built_in_calls', toolCalls: { web_search } })
  const range = { start: 0, end: 15 }
  const billed = { ...usage, toolCalls: { web_search: 2 } }
  const events: readonly ReplyEvent[] = [
    { type: 'text', text: 'North. ' },
    searched(1),
    { type: 'text', text: 'Or south' },
    { type: 'citation', citation: { url: 'https://a.example', title: null, citedText: null, range } },
  ]
  const outputOf = (...later: readonly ReplyEvent[]) => {
    const stream = streamed(replyOf([]), billed, [...events, ...later])
    t.same(problemsOf(whole(replyOf([])), stream), [])
    return asArray(asObject(stream.at(-1)?.['response'])['output'])
  }
  const annotations = [{ type: 'url_citation', start_index: 0, end_index: 15 }]
  const message = { type: 'message', content: [{ text: 'North. Or south', annotations }] }
  const search = { type: 'web_search_call' }
  t.match(outputOf(), [message, search, search])
  const call: ReplyEvent = { type: 'tool_call', id: 'call_1', name: 'find', signature: null }
  const given: ReplyEvent = { type: 'arguments', text: '{}' }
  const calls = outputOf(call, searched(2), given)
  t.match(calls, [message, search, { type: 'function_call', arguments: '{}' }, search])
})

t.test('a completed response has the second of its end', async (t) => {
  const ended = (stop: Reply['stop']) => whole(replyOf([], { stop }))['completed_at']
  t.same([ended('end'), ended('length')], [served.nowSeconds(), null])
})

t.test('a response repeats the settings of its request, with all members of a usage', async (t) => {
  t.match(whole(replyOf([])), {
    object: 'response',
    model: served.model,
    store: false,
    metadata: { a: 'b' },
    temperature: 0.5,
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    },
  })
})

/** Arguments come in pieces, and citations of a whole answer have ranges of their own. */
const withoutAnnotations = (response: JsonObject): unknown =>
  JSON.parse(JSON.stringify(response), (name, value: unknown) => (name === 'annotations' ? [] : value))

t.test('whole and streamed answers are by the contract, and have the same end', async () => {
  fc.assert(
    fc.property(anyReply, (reply) => {
      const answer = whole(reply)
      const stream = streamed(reply)
      const open = { ...answer, tools: asArray(answer['tools']).slice(0, 1) }
      assert.deepEqual(problemsOfResponse(open), [])
      for (const event of stream) {
        const { response } = event
        const checked = isObject(response) ? { ...event, response: { ...response, tools: open.tools } } : event
        assert.deepEqual(problemsOfResponsesEvent(checked), [], JSON.stringify(event))
      }
      assert.deepEqual(
        stream.map(({ sequence_number: number }) => number),
        stream.map((_event, index) => index),
      )
      assert.deepEqual(
        stream.slice(0, 2).map(({ type }) => type),
        ['response.created', 'response.in_progress'],
      )
      assert.deepEqual(withoutAnnotations(asObject(stream.at(-1)?.['response'])), withoutAnnotations(answer))
      const done = stream.filter(({ type }) => type === 'response.output_item.done')
      assert.deepEqual(
        done.map(({ item }) => item),
        asObject(stream.at(-1)?.['response'])['output'],
      )
    }),
  )
})
