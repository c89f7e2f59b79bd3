import t from 'tap'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import { asObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { DeliveredReply } from '../../../src/providers/canonical/delivered.ts'
import type { ReplyReader, UpstreamFormat } from '../../../src/providers/canonical/format.ts'
import type { Reply, ReplyEvent } from '../../../src/providers/canonical/reply.ts'
import { translated } from '../../../src/providers/canonical/translated.ts'
import type {
  StreamRelay,
  UpstreamAnswer,
  UpstreamCallRequest,
  UpstreamDialect,
} from '../../../src/providers/dialect/dialect.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { countTokens } from '../../../src/providers/dialect/tokens.ts'
import { chatClient } from '../../../src/providers/openai/dialect.ts'
import { responsesClient } from '../../../src/providers/openai-responses/dialect.ts'
import { asSent } from '../../support/as-sent.ts'
import { answerBytes } from '../answer-bytes.ts'
import { askedOf, targetOf } from '../openai/target.ts'

/** An upstream whose format is the canonical form itself, as JSON. */
const isReply = (value: JsonObject): value is Reply & JsonObject => Array.isArray(value['parts'])
const isEvent = (value: unknown): value is ReplyEvent => typeof asObject(value)['type'] === 'string'

class PlainReader implements ReplyReader {
  isDone = false
  isFinished = false
  contentIsOver = false

  read({ data }: { readonly data: string | null }): readonly ReplyEvent[] | { readonly fault: string } {
    const event = parseJson(data ?? '')
    if (data === 'END') this.isDone = true
    if (data === 'END') return []
    if (!isEvent(event)) return { fault: 'not_json' }
    if (event.type === 'stop') this.isFinished = true
    return [event]
  }
}

const plain: UpstreamFormat = {
  *writeRequest(conversation, target, asking) {
    yield
    return {
      url: target.provider.baseUrl,
      headers: {},
      body: { turns: conversation.turns.length, conversation, ...asking },
    }
  },
  readReply: (_target, json) => (isReply(json) ? json : { fault: 'no_parts' }),
  openReader: () => new PlainReader(),
  readRefusal: () => ({ message: 'no', code: 'invalid_value', param: 'contents[0]' }),
}

const searching: UpstreamFormat = { ...plain, impliedToolCalls: () => () => ({ web_search_low: 1 }) }

const target = targetOf()
const dialect = translated(chatClient, plain)
const usage: Usage = { ...noUsage, inputUncached: 5, promptTotal: 5, outputTotal: 2 }
const reply: Reply = {
  id: 'r',
  parts: [{ type: 'text', text: 'Hello', citations: [] }],
  stop: 'end',
  stopSequence: null,
  usage,
}
const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

t.test('a request goes through the canonical form, once for each upstream', async (t) => {
  const { body } = dialect.buildRequest(target, askedOf({}, true, 50))
  t.match(asSent(body), { turns: 1, stream: true, outputCap: 50 })
  t.throws(() => dialect.buildRequest(target, askedOf({ n: 2 })), { code: 'unsupported_parameter', param: 'n' })
  t.throws(() => dialect.buildRequest(target, askedOf({ n: 2 })), GatewayError)
})

t.test('instructions alone are sent as the words of the user', async (t) => {
  const sent = (messages: readonly JsonObject[]): unknown =>
    asSent(dialect.buildRequest(target, askedOf({ messages })).body).conversation
  const instructions = [
    { role: 'system', content: 'Be kind.' },
    { role: 'developer', content: 'Say hello.' },
  ]
  const parts = [{ text: 'Be kind.' }, { text: 'Say hello.' }]
  t.match(sent(instructions), { system: [], turns: [{ role: 'user', parts }] })
  t.match(sent([...instructions, { role: 'user', content: '' }]), { system: [], turns: [{ role: 'user', parts }] })
  for (const role of ['user', 'assistant'])
    t.match(sent([...instructions, { role, content: 'Hi' }]), {
      system: parts,
      turns: [{ role, parts: [{ text: 'Hi' }] }],
    })
})

t.test('no more output is asked for than the model has', async (t) => {
  const sent = (max_tokens: number | undefined): unknown =>
    asSent(dialect.buildRequest(target, askedOf({ max_tokens })).body).conversation.outputTokensMax
  const { max_output_tokens } = target.sheet
  t.equal(sent(max_output_tokens + 1), max_output_tokens)
  t.equal(sent(10), 10)
  t.equal(sent(undefined), null)
})

t.test(
  'with the choice `none` no function is called, and the search that another member asks for is kept',
  async (t) => {
    const tools = [{ type: 'function', function: { name: 'find' } }]
    const sent = (more: JsonObject): unknown =>
      asSent(dialect.buildRequest(target, askedOf({ tools, tool_choice: 'none', ...more })).body).conversation
    t.match(sent({ web_search_options: {} }), { tools: [], toolChoice: null, webSearch: { contextSize: null } })
    t.match(sent({}), { tools: [{ name: 'find' }], toolChoice: { type: 'none' }, webSearch: null })
  },
)

t.test('a web search is dropped where it is offered, and refused where it is demanded', async (t) => {
  const without = translated(responsesClient, { ...plain, offersSearch: () => false })
  const asked = (tool_choice: unknown) => askedOf({ input: 'Hi', tools: [{ type: 'web_search' }], tool_choice })
  t.strictSame(without.buildRequest(target, asked('auto')).droppedTools, ['web_search'])
  t.notOk(without.buildRequest(target, asked('none')).droppedTools?.length)
  for (const choice of ['required', { type: 'web_search' }])
    t.throws(() => without.buildRequest(target, asked(choice)), {
      code: 'unsupported_parameter',
      param: 'tool_choice',
      message: /web search/,
    })
  const searching = translated(responsesClient, plain)
  const { conversation } = asSent(searching.buildRequest(target, asked('required')).body)
  t.match(conversation, { webSearch: { isForced: true } })
})

t.test('a refusal names no field: it would be one of the upstream’s format', async (t) => {
  t.strictSame(dialect.readRefusal(target.provider, bytesOf({})), { message: 'no', code: 'invalid_value', param: null })
  const silent = translated(chatClient, { ...plain, readRefusal: () => null })
  t.equal(silent.readRefusal(target.provider, bytesOf({})), null)
})

const answerOf = (spoken: UpstreamDialect, asked: UpstreamCallRequest, value: unknown): UpstreamAnswer => {
  const answer = spoken.readAnswer(target, asked, bytesOf(value))
  if ('fault' in answer) throw new Error(answer.fault)
  return answer
}

const completion = (told: Usage): JsonObject => ({
  id: 'chatcmpl-0199d0a0-0000-7000-8000-000000000001',
  model: 'alpha/gpt-4o-mini',
  created: 1_760_000_000,
  choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: told.promptTotal, completion_tokens: told.outputTotal },
})

t.test('a whole answer is written by us, with the usage that was told', async (t) => {
  const answer = answerOf(dialect, askedOf(), reply)
  t.strictSame(answer.reportedUsage, usage)
  t.strictSame(answer.delivered.texts, ['Hello'])
  t.match(parseJson(answerBytes(answer.body).toString()), completion(usage))
})

t.test('or with the usage that was counted', async (t) => {
  const asked = askedOf()
  const answer = answerOf(dialect, asked, { ...reply, usage: null })
  t.strictSame([answer.reportedUsage, answer.body], [null, undefined])
  const counted = { ...usage, promptTotal: 9, inputUncached: 9 }
  const body = dialect.completeAnswer(answer, counted, target, asked)
  t.match(parseJson(answerBytes(body).toString()), completion(counted))
})

t.test('an answer that is none', async (t) => {
  t.strictSame(dialect.readAnswer(target, askedOf(), Buffer.from('<html>')), { fault: 'not_json' })
  t.strictSame(dialect.readAnswer(target, askedOf(), bytesOf([])), { fault: 'not_json' })
  t.strictSame(dialect.readAnswer(target, askedOf(), bytesOf({})), { fault: 'no_parts' })
})

const event = (value: ReplyEvent): string => `data: ${JSON.stringify(value)}\n\n`
const start = event({ type: 'start', id: 'r', usage: null })
const text = (value: string): string => event({ type: 'text', text: value })
const stop = event({ type: 'stop', reason: 'end', stopSequence: null })
const told = event({ type: 'usage', usage })
const end = 'data: END\n\n'

interface Relayed {
  readonly relay: StreamRelay
  /** What was given out before the end. */
  readonly given: string
}

const relayed = (pieces: readonly Uint8Array[], body: JsonObject = {}, spoken = dialect): Relayed => {
  const relay = spoken.openRelay(target, askedOf(body, true))
  const given = [...pieces.map((piece) => relay.push(piece)), relay.end()].filter((bytes) => bytes !== null)
  return { relay, given: Buffer.concat(given).toString() }
}
const relay = (stream: string, body?: JsonObject, spoken?: UpstreamDialect): Relayed =>
  relayed([Buffer.from(stream)], body, spoken)

/** The text that the chunks bring. */
const contentOf = (chunks: string): string =>
  [...chunks.matchAll(/"delta":\{"content":"([^"]*)"/g)].map(([, content]) => content).join('')

t.test('a stream is written as it comes, its end held back', async (t) => {
  const wantsUsage = { stream_options: { include_usage: true } }
  const { relay: spoken, given } = relay(start + text('Hel') + text('lo') + stop + told + end, wantsUsage)
  t.strictSame([spoken.state, spoken.fault, spoken.isFinished], ['done', null, true])
  t.equal(contentOf(given), 'Hello')
  t.match(given, /"finish_reason":"stop"/)
  t.notMatch(given, /"usage":\{|DONE/)
  t.strictSame(spoken.reportedUsage, usage)
  t.strictSame(spoken.delivered.texts, ['Hello'])
  t.match(Buffer.from(spoken.closing(null)).toString(), /"prompt_tokens":5.*\n\ndata: \[DONE\]\n\n$/)
  const counted = { ...usage, promptTotal: 9 }
  t.match(Buffer.from(spoken.closing(counted)).toString(), /"prompt_tokens":9.*\n\ndata: \[DONE\]\n\n$/)
})

t.test('nothing is released before the first content: another candidate may serve', async (t) => {
  const open = dialect.openRelay(target, askedOf({}, true))
  t.equal(open.push(Buffer.from(`: wait\n\n${start}${told}`)), null)
  t.strictSame([open.answering, open.state], [false, 'open'])
  const first = Buffer.from(open.push(Buffer.from(text('Hi'))) ?? '').toString()
  t.ok(open.answering)
  t.match(first, /"role":"assistant".*\n\n.*"content":"Hi"/)
  t.equal(open.push(Buffer.from('data: {"type":"te')), null)
})

t.test('streams that end badly, and some that do not', async (t) => {
  const table: readonly [string, string, StreamRelay['state'], string | null, boolean][] = [
    ['an error at once', 'data: oops\n\n', 'broken', 'not_json', false],
    ['an error behind the start', `${start}data: oops\n\n`, 'broken', 'not_json', false],
    ['an error behind text', `${start}${text('x')}data: oops\n\n${text('y')}`, 'broken', 'not_json', true],
    ['nothing', '', 'broken', 'empty_answer', false],
    ['a start alone', start, 'broken', 'empty_answer', false],
    ['an end alone', start + end, 'broken', 'empty_answer', false],
    ['an early end', start + text('x'), 'broken', 'ended_early', true],
    ['an end inside an event', `${start}${text('x')}data: {"type":"te`, 'broken', 'ended_early', true],
    ['an empty answer that is finished', start + stop + end, 'done', null, true],
    ['a forgotten closing event', start + text('x') + stop, 'done', null, true],
    ['a forgotten blank line', `${start}${text('x')}${stop}${told}`.trimEnd(), 'done', null, true],
    ['an event cut short behind the end', `${start}${text('x')}${stop}data: EN`, 'done', null, true],
  ]
  for (const [name, stream, state, fault, answering] of table) {
    const { relay: spoken, given } = relay(stream)
    t.strictSame([spoken.state, spoken.fault, spoken.answering], [state, fault, answering], name)
    t.equal(given !== '', answering, name)
    t.notMatch(given, /"content":"y"|DONE/, name)
  }
})

t.test('an event that is too large', async (t) => {
  const open = dialect.openRelay(target, askedOf({}, true))
  const piece = Buffer.alloc(providerLimits.translatedEventBytesMax / 2, 'x')
  for (let pushed = 0; pushed < 3; pushed += 1) t.equal(open.push(piece), null)
  t.strictSame([open.state, open.fault], ['broken', 'event_too_large'])
})

t.test('usage: the last one told counts, none is counted by us', async (t) => {
  const early = event({ type: 'start', id: 'r', usage: { ...usage, outputTotal: 1 } })
  t.strictSame(relay(early + text('x')).relay.reportedUsage, { ...usage, outputTotal: 1 }, 'of a broken stream')
  t.strictSame(relay(early + text('x') + stop + told + end).relay.reportedUsage, usage)
  const silent = relay(start + text('x') + stop + end).relay
  t.equal(silent.reportedUsage, null)
  t.throws(() => silent.closing(null))
  t.match(Buffer.from(silent.closing(usage)).toString(), /\[DONE\]/)
})

t.test('usage is final where no more output came behind it', async (t) => {
  const start1 = event({ type: 'start', id: 'r', usage: { ...usage, outputTotal: 1 } })
  const call = event({ type: 'tool_call', id: 'c', name: 'find', signature: null })
  const table: readonly [string, string, boolean][] = [
    ['told at the end', start1 + text('x') + stop + told + end, true],
    ['told before the end', start1 + text('x') + told + stop + end, true],
    ['told behind a forgotten closing event', start1 + text('x') + stop + told, true],
    ['told at the start alone', start1 + text('x') + stop + end, false],
    ['text came behind it', start1 + told + text('x') + stop + end, false],
    ['a call came behind it', start1 + text('x') + told + call + stop + end, false],
    ['told, and no end', start1 + text('x') + told, false],
  ]
  for (const [name, stream, isFinished] of table) t.equal(relay(stream).relay.isFinished, isFinished, name)
})

t.test('built-in calls that were seen count where no final usage tells of them', async (t) => {
  const calls = event({ type: 'built_in_calls', toolCalls: { web_search: 2 } })
  const broken = relay(start + calls + text('x')).relay
  t.strictSame(broken.delivered.toolCalls, { web_search: 2 })
  const counted = await dialect.countUsage(target, askedOf(), broken.delivered)
  t.strictSame(counted.toolCalls, { web_search: 2 })
  t.strictSame(relay(start + calls + text('x') + stop + told + end).relay.reportedUsage, usage, 'the end decides')
  t.notOk(relay(start + calls).relay.answering, 'a search alone: another candidate may serve')
  const whole = answerOf(dialect, askedOf(), { ...reply, usage: null, toolCalls: { grounded_prompt: 1 } })
  t.strictSame((await dialect.countUsage(target, askedOf(), whole.delivered)).toolCalls, { grounded_prompt: 1 })
})

t.test('calls of tools that nobody tells of are part of each usage', async (t) => {
  const spoken = translated(chatClient, searching)
  const billed = { ...usage, toolCalls: { web_search_low: 1 } }
  t.strictSame(answerOf(spoken, askedOf(), reply).reportedUsage, billed)
  t.strictSame(relay(start + text('x') + stop + told + end, {}, spoken).relay.reportedUsage, billed)
  const counted = await spoken.countUsage(target, askedOf(), relay(start + text('x'), {}, spoken).relay.delivered)
  t.strictSame(counted.toolCalls, { web_search_low: 1 })
})

t.test('any cut gives the same', async (t) => {
  const call = event({ type: 'tool_call', id: 'c', name: 'find', signature: null })
  const full = `: wait\n\n${start}${text('naïve 🙂')}${call}${event({ type: 'arguments', text: '{}' })}${stop}${told}${end}`
  for (const bytes of [full, full.replaceAll('\n', '\r\n')].map((each) => Buffer.from(each))) {
    const whole = relayed([bytes]).given
    for (let at = 1; at < bytes.length; at += 1) {
      const { relay: cut, given } = relayed([bytes.subarray(0, at), bytes.subarray(at)])
      if (given !== whole || cut.state !== 'done' || cut.reportedUsage === null) t.fail(`cut at ${at}`)
    }
  }
})

t.test('a count: texts by the tokenizer, three tokens a message and three to prime', async (t) => {
  const asked = askedOf({
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://x.test/i.png' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'not counted',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'A cat.' },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } }],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { a: 1 } } },
  })
  const prompt = 'Be brief.userWhat is this?assistantlook{"at":1}userA cat.lookLooks.{"type":"object"}{"a":1}'
  const delivered = { texts: ['Hello there'], reasoningTexts: ['hm'], charactersBeyond: 9, characters: 22 }
  const [promptTokens, answer, reasoning] = await Promise.all(
    [prompt, 'Hello there', 'hm'].map((text) => countTokens(text)),
  )
  const total = (promptTokens ?? 0) + 4 * 3 + 3
  const outputTotal = (answer ?? 0) + (reasoning ?? 0) + 3
  t.strictSame(await dialect.countUsage(target, asked, delivered), {
    ...noUsage,
    inputUncached: total,
    inputImage: 1_600,
    promptTotal: total + 1_600,
    outputTotal,
    outputReasoning: reasoning,
  })
})

t.test('what is delivered is kept within its bound', async (t) => {
  const delivered = new DeliveredReply()
  delivered.addEvent({ type: 'text', text: 'x'.repeat(providerLimits.deliveredCharactersMax - 1) })
  delivered.addEvent({ type: 'thinking', text: 'abc' })
  delivered.addEvent({ type: 'arguments', text: 'de' })
  t.strictSame(delivered.reasoningTexts, ['a'])
  t.strictSame([delivered.texts[0]?.length, delivered.charactersBeyond], [providerLimits.deliveredCharactersMax - 1, 4])
})

t.test('whole and streamed deliver the same text', async (t) => {
  const [whole, streamed] = [new DeliveredReply(), new DeliveredReply()]
  whole.addReply({
    ...reply,
    parts: [
      { type: 'thinking', text: 'hm', signature: null },
      { type: 'text', text: 'Hi', citations: [] },
      { type: 'tool_call', id: 'c', name: 'find', arguments: '{}', signature: null },
    ],
  })
  const events: readonly ReplyEvent[] = [
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Hi' },
    { type: 'tool_call', id: 'c', name: 'find', signature: null },
    { type: 'arguments', text: '{}' },
  ]
  for (const each of events) streamed.addEvent(each)
  t.strictSame([whole.texts, whole.reasoningTexts], [['Hifind{}'], ['hm']])
  t.strictSame([streamed.texts, streamed.reasoningTexts], [['Hifind{}'], ['hm']])
})
