import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import type { ReplyEvent, ReplyPart } from '../../../src/providers/canonical/reply.ts'
import { SseSplitter } from '../../../src/providers/dialect/sse.ts'
import { chatClient, chatUpstream } from '../../../src/providers/openai/dialect.ts'
import { asSent } from '../../support/as-sent.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { conversation } from '../canonical/parts.ts'
import { anyReply, eventsOf, served, type UsedReply } from '../canonical/replies.ts'
import { sheet, targetOf } from './target.ts'

const filled = fc.string({ minLength: 1, unit: 'grapheme' })
const base64 = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }))
const name = fc.stringMatching(/^[a-z]{1,8}$/)

const textPart = filled.map((text) => ({ type: 'text', text }))
const part = fc.oneof(
  textPart,
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record(
      {
        url: fc.oneof(
          fc.webUrl(),
          base64.map((data) => `data:image/png;base64,${data}`),
        ),
        detail: fc.constantFrom('auto', 'low', 'high'),
      },
      { requiredKeys: ['url'] },
    ),
  }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: base64, format: fc.constantFrom('wav', 'mp3') }),
  }),
  fc.record({
    type: fc.constant('file'),
    file: fc.record({ filename: filled, file_data: base64.map((data) => `data:application/pdf;base64,${data}`) }),
  }),
)

const userMessage = fc
  .oneof(filled, fc.array(part, { minLength: 2, maxLength: 4 }))
  .map((content) => ({ role: 'user', content }))

const toolCall = fc.record({ id: fc.uuid(), name, given: object }).map(({ id, name, given }) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(given) },
}))

/** A question, and its answer: with tools, also their calls and results. */
const round: fc.Arbitrary<readonly JsonObject[]> = fc
  .tuple(
    userMessage,
    fc.option(fc.record({ content: fc.option(filled), calls: fc.array(toolCall, { minLength: 1, maxLength: 3 }) })),
    filled,
    fc.array(filled, { minLength: 3, maxLength: 3 }),
  )
  .map(([question, tools, answer, results]) => [
    question,
    ...(tools === null
      ? []
      : [
          { role: 'assistant', content: tools.content, tool_calls: tools.calls },
          ...tools.calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: results[at] ?? '' })),
        ]),
    { role: 'assistant', content: answer },
  ])

const tool = fc
  .record({ name, description: filled, parameters: object, strict: fc.boolean() }, { requiredKeys: ['name'] })
  .map((definition) => ({ type: 'function', function: definition }))

const toolSettings = fc.record(
  {
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    tool_choice: fc.oneof(
      fc.constantFrom('auto', 'none', 'required'),
      name.map((each) => ({ type: 'function', function: { name: each } })),
    ),
    parallel_tool_calls: fc.boolean(),
  },
  { requiredKeys: ['tools'] },
)

const settings = fc.record(
  {
    max_completion_tokens: fc.integer({ min: 1, max: 1_000 }),
    temperature: fc.double({ min: 0.1, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0.1, max: 1, noNaN: true }),
    stop: fc.array(filled, { minLength: 1, maxLength: 4 }),
    reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
    response_format: fc.oneof(
      fc.constant({ type: 'json_object' }),
      fc
        .record(
          { name, description: filled, schema: object, strict: fc.boolean() },
          { requiredKeys: ['name', 'schema'] },
        )
        .map((json_schema) => ({ type: 'json_schema', json_schema })),
    ),
    user: filled,
  },
  { requiredKeys: [] },
)

const dropped = fc.record(
  {
    seed: fc.integer(),
    logit_bias: object,
    presence_penalty: fc.constant(1),
    frequency_penalty: fc.constant(1),
    verbosity: fc.constant('low'),
    metadata: object,
    store: fc.boolean(),
    service_tier: fc.constant('flex'),
    prompt_cache_key: filled,
    prediction: object,
    stream_options: fc.constant({ include_usage: true }),
    new_key: fc.jsonValue(),
  },
  { requiredKeys: [] },
)

const body: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.option(filled), fc.array(round, { minLength: 1, maxLength: 3 }), fc.option(toolSettings), settings)
  .map(([system, rounds, tools, more]) => ({
    model: 'gpt-5.1',
    messages: [...(system === null ? [] : [{ role: 'system', content: system }]), ...rounds.flat()],
    ...tools,
    ...more,
  }))

const translatedBody = (asked: JsonObject): JsonObject =>
  asSent(
    finishSteps(
      chatUpstream.writeRequest(finishSteps(chatClient.readRequest(asked, 'openai')), targetOf('openai', 'gpt-5.1'), {
        stream: false,
        outputCap: null,
      }),
    ).body,
  ) as JsonObject

/** Members in any order. */
const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([key, each]) => [key, sorted(each)]),
        )
      : value

t.test('a request through the canonical form and back keeps its meaning; what only tunes is dropped', async () => {
  fc.assert(
    fc.property(body, dropped, (asked, more) => {
      const [was, is] = [asked, translatedBody({ ...more, ...asked })].map((each) => JSON.stringify(sorted(each)))
      if (was !== is) throw new Error(`${was}\n${is}`)
    }),
    propertyRuns(30),
  )
})

/** In chat thinking comes first, then text, then calls; signatures of thinking and what is redacted have no place. */
const asChat = ({ parts, stop }: UsedReply): unknown => {
  const thoughts = parts.map((each) => (each.type === 'thinking' ? each.text : '')).join('')
  const text = parts.map((each) => (each.type === 'text' ? each.text : '')).join('')
  const calls = parts.filter((each) => each.type === 'tool_call')
  const ended = stop === 'stop_sequence' ? 'end' : stop
  return { thoughts, text, calls, stop: ended === 'end' && calls.length > 0 ? 'tool_calls' : ended }
}

const readBack = (reply: UsedReply): UsedReply => {
  const read = chatUpstream.readReply(targetOf(), chatClient.writeReply(reply, served, {}))
  if ('fault' in read || read.usage === null) throw new Error('an answer with usage')
  return { ...read, usage: read.usage }
}

const collect = (events: readonly ReplyEvent[]): readonly ReplyPart[] => {
  const parts: ReplyPart[] = []
  for (const event of events) {
    const last = parts.at(-1)
    if (event.type === 'text') parts.push({ type: 'text', text: event.text, citations: [] })
    if (event.type === 'thinking') parts.push({ type: 'thinking', text: event.text, signature: null })
    if (event.type === 'tool_call') parts.push({ ...event, arguments: '' })
    if (event.type === 'arguments' && last?.type === 'tool_call')
      parts.splice(-1, 1, { ...last, arguments: last.arguments + event.text })
  }
  return parts
}

const streamBack = (reply: UsedReply): UsedReply => {
  const writer = chatClient.openWriter(served, { stream_options: { include_usage: true } })
  const stream = [...eventsOf(reply).map((event) => writer.write(event)), writer.close(reply.usage)].join('')
  const reader = chatUpstream.openReader(targetOf())
  const events = new SseSplitter().push(Buffer.from(stream)).flatMap((event) => {
    const said = reader.read(event)
    if ('fault' in said) throw new Error(said.fault)
    return said
  })
  const stop = events.find((event) => event.type === 'stop')
  const told = events.findLast((event) => event.type === 'usage')
  if (stop === undefined || told === undefined || !reader.isDone) throw new Error('a whole stream')
  return { ...reply, parts: collect(events), stop: stop.reason, usage: told.usage }
}

const ids = (key: string, value: unknown): unknown => (key === 'id' && value === '' ? undefined : value)

t.test('an answer through chat and back keeps its meaning, whole and streamed', async () => {
  fc.assert(
    fc.property(anyReply, (reply) => {
      const [sent, whole, streamed] = [reply, readBack(reply), streamBack(reply)]
      const [one, two, three] = [sent, whole, streamed].map((each) => JSON.stringify(sorted(asChat(each)), ids))
      if (one !== two || one !== three) throw new Error(`${one}\n${two}\n${three}`)
      const [told, again] = [whole.usage, streamed.usage].map((each) => JSON.stringify(sorted(each)))
      if (told !== again || told !== JSON.stringify(sorted(reply.usage))) throw new Error(`${told} ${again}`)
    }),
    propertyRuns(30),
  )
})

t.test('a search model searches once for each request', async (t) => {
  const priced = { ...sheet, per_call: { web_search_low: '0.03', web_search_medium: '0.035' } }
  const webSearch = { usesMax: null, allowedDomains: [], blockedDomains: [], userLocation: null }
  const implied = (contextSize: 'low' | 'high' | null, model = 'gpt-4o-search-preview') =>
    chatUpstream.impliedToolCalls?.(targetOf('openai', model, priced))?.(
      conversation({ webSearch: { ...webSearch, contextSize } }),
    )
  t.strictSame(implied(null), { web_search_medium: 1 })
  t.strictSame(implied('low'), { web_search_low: 1 })
  t.strictSame(implied('high'), { web_search_high: 1 })
  t.equal(implied('low', 'gpt-4o'), undefined)
})
