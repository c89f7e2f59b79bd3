import fc from 'fast-check'
import t from 'tap'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import { asObject, isObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { countResponsesUsage } from '../../../src/providers/openai-responses/estimate.ts'
import { ResponsesRelay } from '../../../src/providers/openai-responses/relay.ts'
import { problemsOfResponsesEvent } from '../../reference/responses-contract.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import {
  askedOf,
  codeRun,
  created,
  eventsOf,
  messageEvents,
  messageOf,
  responseOf,
  search,
  sse,
  targetOf,
  toolEvents,
  usageOf,
} from './fixtures.ts'

const tools = [{ type: 'web_search' }, { type: 'code_interpreter', container: { type: 'auto' } }]
const words = ['naïve ', '🙂 ', 'there']
const items = [search('ws_1'), codeRun('ci_1', 'cntr_1'), messageOf(words.join(''))]
const completed = { type: 'response.completed', response: responseOf(items, { usage: usageOf(20, 9, 4, 3) }) }
const content = [
  ...toolEvents(search('ws_1'), 0),
  { type: 'response.web_search_call.completed', item_id: 'ws_1', output_index: 0 },
  ...toolEvents(codeRun('ci_1', 'cntr_1'), 1),
  { type: 'response.something_new', strange: [1, { a: null }] },
  ...messageEvents(words, 2),
]
const events = eventsOf([...created(), ...content, completed])
const textOf = (list: readonly JsonObject[]): string => list.map(sse).join('')
const head = textOf(events.slice(0, 2))
const body = textOf(events.slice(0, -1))
const end = textOf(events.slice(-1))
const told = {
  ...noUsage,
  inputUncached: 16,
  cacheRead: 4,
  promptTotal: 20,
  outputTotal: 9,
  outputReasoning: 3,
  toolCalls: { web_search: 1, code_interpreter: 1 },
}

interface Relayed {
  readonly relay: ResponsesRelay
  /** What was given out before the end. */
  readonly text: string
  readonly closing: string
}

const closingOf = (relay: ResponsesRelay): string =>
  relay.state === 'done' ? Buffer.from(relay.closing(null)).toString() : ''

const relayed = (pieces: readonly (string | Uint8Array)[], more: JsonObject = {}): Relayed => {
  const relay = new ResponsesRelay(targetOf(), askedOf({ tools, ...more }, true))
  const given = pieces.map((piece) => relay.push(Buffer.from(piece)))
  given.push(relay.end())
  const text = Buffer.concat(given.filter((bytes) => bytes !== null)).toString()
  return { relay, text, closing: closingOf(relay) }
}

t.test('the events of these tests are those of the surface', async (t) => {
  for (const event of events) t.strictSame(problemsOfResponsesEvent(event), [], String(event['type']))
})

t.test('the end stays back until it is asked for', async (t) => {
  const { relay, text, closing } = relayed([body + end])
  t.equal(text, body)
  t.equal(closing, end)
  t.equal(relay.state, 'done')
  t.ok(relay.isFinished)
  t.strictSame(relay.reportedUsage, told)
  t.strictSame(relay.delivered.texts.at(-1), words.join(''))
  t.equal(relay.storedId, 'resp_1')
})

t.test('a stream cut anywhere gives the same bytes', async (t) => {
  const crlf = (text: string): string => text.replaceAll('\n', '\r\n')
  const cr = (text: string): string => text.replaceAll('\n', '\r')
  for (const variant of [(text: string) => text, crlf, cr]) {
    const bytes = Buffer.from(variant(`: hello\n\n${body}${end}`))
    let different = 0
    for (let at = 0; at <= bytes.length; at += 1) {
      const { relay, text, closing } = relayed([bytes.subarray(0, at), bytes.subarray(at)])
      const isSame = relay.state === 'done' && relay.reportedUsage?.promptTotal === 20
      if (!isSame || text + closing !== bytes.toString()) different += 1
    }
    t.equal(different, 0)
  }
})

t.test('a stream in any pieces gives the same', async () => {
  const bytes = Buffer.from(body + end)
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 40 }), (places) => {
      const at = [0, ...places.map((place) => place % bytes.length), bytes.length].sort((a, b) => a - b)
      const pieces = at.slice(1).map((stop, index) => bytes.subarray(at[index], stop))
      const { relay, text, closing } = relayed(pieces)
      return text === body && closing === end && JSON.stringify(relay.reportedUsage) === JSON.stringify(told)
    }),
    propertyRuns(40),
  )
})

t.test('a promise is no answer: it waits for the next event', async (t) => {
  const relay = new ResponsesRelay(targetOf(), askedOf({}, true))
  t.equal(relay.push(Buffer.from(': wait\n\n')), null)
  t.equal(relay.push(Buffer.from(head)), null)
  t.equal(relay.push(Buffer.from(sse({ type: 'response.queued', response: {} }))), null)
  t.notOk(relay.answering)
  const next = textOf(events.slice(2, 3))
  const released = Buffer.from(relay.push(Buffer.from(next)) ?? '').toString()
  t.ok(relay.answering)
  t.ok(released.startsWith(`: wait\n\n${head}`))
  t.ok(released.endsWith(next))
})

t.test('a promise is bounded', async (t) => {
  const relay = new ResponsesRelay(targetOf(), askedOf({}, true))
  const promise = Buffer.from(sse({ type: 'response.in_progress', pad: 'x'.repeat(1024 * 1024) }))
  for (let bytes = 0; bytes <= providerLimits.sseEventBytesMax; bytes += promise.length) relay.push(promise)
  t.strictSame([relay.state, relay.fault], ['broken', 'event_too_large'])
})

const failed = {
  type: 'response.failed',
  sequence_number: 2,
  response: responseOf([], {
    status: 'failed',
    completed_at: null,
    error: { code: 'server_error', message: 'secret host' },
    usage: null,
  }),
}
const error = {
  type: 'error',
  sequence_number: 2,
  error: { type: 'server_error', code: 'server_error', message: 'secret host', param: null },
}

t.test('before the first event of an answer another candidate may serve', async (t) => {
  t.strictSame([...problemsOfResponsesEvent(failed), ...problemsOfResponsesEvent(error)], [])
  const failing: readonly (readonly [string, string])[] = [
    [head + sse(error), 'error_in_stream'],
    [head + sse({ type: 'error', code: 'x', message: 'flat', param: null }), 'error_in_stream'],
    [`${head}event: error\ndata: {"message":"no"}\n\n`, 'error_in_stream'],
    [head + sse(failed), 'response_failed'],
    [`${head}data: {nonsense\n\n`, 'not_json'],
    ['data: {"choices":[]}\n\n', 'not_a_responses_stream'],
    [sse({ type: 'message_start' }), 'not_a_responses_stream'],
    ['data: [DONE]\n\n', 'empty_answer'],
    [head, 'empty_answer'],
    ['<html>\n\n</html>', 'empty_answer'],
    ['', 'empty_answer'],
  ]
  for (const [text, fault] of failing) {
    const { relay, text: given } = relayed([`: wait\n\n${text}`])
    t.strictSame([relay.answering, relay.state, relay.fault, given], [false, 'broken', fault, ''], fault)
    t.equal(relay.reportedUsage, null)
  }
})

t.test('a stream breaks', async (t) => {
  const begun = textOf(events.slice(0, 5))
  const table: readonly (readonly [string, string])[] = [
    [begun + sse(error) + begun, 'error_in_stream'],
    [begun + sse(failed) + begun, 'response_failed'],
    [`${begun}data: {nonsense\n\n${begun}`, 'not_json'],
    [`${begun}data: [DONE]\n\n`, 'ended_early'],
    [begun, 'ended_early'],
    [`${begun}event: response.completed\ndata: {"type"`, 'ended_early'],
  ]
  for (const [text, fault] of table) {
    const { relay, text: given } = relayed([text])
    t.strictSame([relay.answering, relay.state, relay.fault, given], [true, 'broken', fault, begun], fault)
    t.notOk(relay.isFinished)
  }
})

const limited = {
  code: 'rate_limit_exceeded',
  message:
    'Rate limit reached for gpt-5 in organization org-AAA1 on tokens per min (TPM): Limit 30000, Used 22999. Please try again in 11.054s. Visit https://platform.openai.com/account/rate-limits.',
}
const limitedText =
  'Rate limit reached for gpt-5 in organization [redacted] on tokens per min (TPM): Limit 30000, Used 22999. Please try again in 11.054s. Visit [redacted]'
const lateFailure = (more: JsonObject = {}): JsonObject => ({
  ...failed,
  response: { ...failed.response, error: limited, output: [messageOf('secret.example')], ...more },
})
const crlf = (text: string): string => text.replaceAll('\n', '\r\n')
const lateError = { ...error, error: { ...limited, type: 'tokens', param: null } }

t.test('the failed response of the upstream is kept for the client, scrubbed', async (t) => {
  const begun = textOf(events.slice(0, 5))
  const own = lateFailure()['response']
  const scrubbed = { ...asObject(own), error: { code: limited.code, message: limitedText } }
  const alone = { error: scrubbed.error }
  const flat = { type: 'error', ...limited, param: null }
  const table: readonly (readonly [
    name: string,
    pieces: readonly string[],
    fault: string,
    failure: JsonObject | null,
  ])[] = [
    ['the response alone', [begun + sse(lateFailure())], 'response_failed', scrubbed],
    ['behind an error', [begun + sse(lateError) + sse(lateFailure())], 'response_failed', scrubbed],
    ['in pieces', [begun + sse(lateError), sse(lateFailure())], 'response_failed', scrubbed],
    [
      'with a cut line end',
      [`${begun}${crlf(sse(lateError)).slice(0, -1)}`, `\n${sse(lateFailure())}`],
      'response_failed',
      scrubbed,
    ],
    ['an error, and a comment', [begun + sse(lateError), ': wait\n\n', sse(lateFailure())], 'error_in_stream', alone],
    ['the error alone', [begun + sse(lateError)], 'error_in_stream', alone],
    ['a flat error', [begun + sse(flat)], 'error_in_stream', alone],
    ['a needless end', [begun + sse(lateError), 'data: [DONE]\n\n'], 'error_in_stream', alone],
    ['an error, and more', [begun + sse(lateError) + begun], 'error_in_stream', alone],
    ['two errors', [begun + sse(lateError) + sse(flat)], 'error_in_stream', alone],
    [
      'an empty error',
      [begun + sse({ type: 'error' })],
      'error_in_stream',
      { error: { code: 'server_error', message: String } },
    ],
    ['before it began', [head + sse(lateFailure())], 'response_failed', null],
    ['an early end', [begun], 'ended_early', null],
  ]
  for (const [name, pieces, fault, failure] of table) {
    const { relay } = relayed(pieces)
    t.equal(relay.fault, fault, name)
    if (failure === null) t.equal(relay.failedResponse, null, name)
    else t.match(relay.failedResponse, failure, name)
  }
  const waiting = new ResponsesRelay(targetOf(), askedOf({}, true))
  waiting.push(Buffer.from(begun + sse(lateError)))
  t.strictSame([waiting.state, waiting.isFailing], ['open', true], 'its response is about to come')
})

t.test('of a failed response that is too large only the failure is kept', async (t) => {
  const begun = textOf(events.slice(0, 5))
  const instructions = 'x'.repeat(providerLimits.failedResponseCharactersMax)
  const { relay } = relayed([begun + sse(lateFailure({ instructions, usage: usageOf(5, 2) }))])
  t.strictSame(relay.failedResponse, {
    id: 'resp_1',
    error: { code: limited.code, message: limitedText },
    incomplete_details: null,
    usage: usageOf(5, 2),
  })
})

t.test('a broken stream is billed for the tools and the words that came', async (t) => {
  const until = events.findIndex(({ type }) => type === 'response.output_text.delta') + 2
  const { relay } = relayed([textOf(events.slice(0, until))])
  t.equal(relay.reportedUsage, null)
  t.equal(relay.delivered.texts.at(-1), 'naïve 🙂 ')
  const usage = await countResponsesUsage(targetOf(), askedOf({ tools }), relay.delivered)
  t.strictSame(usage.toolCalls, { web_search: 1, code_interpreter: 1 })
  const beforeCode = relayed([textOf(events.slice(0, 5))]).relay
  t.strictSame(beforeCode.delivered.toolCalls, { web_search: 1 })
})

t.test('a response that failed late may tell its cost', async (t) => {
  const costly = { ...failed, response: { ...failed.response, output: [search('ws_1')], usage: usageOf(5, 2) } }
  const { relay } = relayed([body + sse(costly)])
  t.strictSame([relay.state, relay.fault, relay.isFinished], ['broken', 'response_failed', true])
  t.strictSame(relay.reportedUsage, {
    ...noUsage,
    inputUncached: 5,
    promptTotal: 5,
    outputTotal: 2,
    toolCalls: { web_search: 1 },
  })
})

t.test('an answer that ran into a limit is whole', async (t) => {
  const response = responseOf([messageOf('hi')], {
    status: 'incomplete',
    completed_at: null,
    incomplete_details: { reason: 'max_output_tokens' },
  })
  const incomplete = { type: 'response.incomplete', sequence_number: 9, response }
  t.strictSame(problemsOfResponsesEvent(incomplete), [])
  const { relay, closing } = relayed([head + sse(incomplete)])
  t.strictSame([relay.state, relay.answering, closing], ['done', true, sse(incomplete)])
})

t.test('what stands behind the end goes no further', async (t) => {
  for (const rest of ['data: [DONE]\n\n', ': bye\n\n', sse(error)]) {
    const { relay, text, closing } = relayed([body + end + rest])
    t.strictSame([relay.state, text, closing], ['done', body, end])
  }
})

t.test('an upstream may forget the last blank line', async (t) => {
  const { relay, closing } = relayed([body + end.trimEnd()])
  t.equal(relay.state, 'done')
  t.equal(closing, end)
})

t.test('the end may leave the items out', async (t) => {
  const bare = { ...completed, response: { ...completed.response, output: [] } }
  t.strictSame(relayed([body + sse(bare)]).relay.reportedUsage, told)
})

t.test('an end without usage is counted, and told', async (t) => {
  const silent = { ...completed, sequence_number: 30, response: responseOf(items, { usage: null }) }
  const { relay, closing } = relayed([head + sse(silent)])
  t.equal(relay.reportedUsage, null)
  t.equal(closing, sse(silent), 'nothing counted: the bytes stay')
  const counted = await countResponsesUsage(targetOf(), askedOf({ tools }), relay.delivered)
  t.strictSame(counted.toolCalls, { web_search: 1, code_interpreter: 1 })
  t.ok(counted.outputTotal > 0)
  const [name, data] = Buffer.from(relay.closing(counted)).toString().trimEnd().split('\n')
  t.equal(name, 'event: response.completed')
  const event = parseJson(data?.slice('data: '.length) ?? '')
  if (!isObject(event)) throw new Error('no JSON')
  t.strictSame(problemsOfResponsesEvent(event), [])
  t.strictSame(event, {
    ...silent,
    response: { ...silent.response, usage: usageOf(counted.promptTotal, counted.outputTotal) },
  })
})

t.test('an answer that is not kept has no name', async (t) => {
  t.equal(relayed([body + end], { store: false }).relay.storedId, null)
  const relay = new ResponsesRelay(targetOf(), askedOf({}, true))
  relay.push(Buffer.from(head))
  t.equal(relay.storedId, 'resp_1', 'known from the first event on')
})

t.test('an item as a whole replaces its pieces', async (t) => {
  const call = { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'find', arguments: '', status: 'in_progress' }
  const delta = (text: string) => ({
    type: 'response.function_call_arguments.delta',
    item_id: 'fc_1',
    output_index: 0,
    delta: text,
  })
  const pieces = [{ type: 'response.output_item.added', output_index: 0, item: call }, delta('{"a"'), delta(':1}')]
  const done = {
    type: 'response.output_item.done',
    output_index: 0,
    item: { ...call, arguments: '{"a":1}', status: 'completed' },
  }
  for (const event of eventsOf([...pieces, done])) t.strictSame(problemsOfResponsesEvent(event), [])
  t.strictSame(relayed([textOf(eventsOf(pieces))]).relay.delivered.texts, ['find{"a":1}'])
  t.strictSame(relayed([textOf(eventsOf([...pieces, done]))]).relay.delivered.texts, ['find{"a":1}'])
})

t.test('reasoning is told apart', async (t) => {
  const place = { item_id: 'rs_1', output_index: 0 }
  const list = eventsOf([
    { type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta: 'Let me ' },
    { type: 'response.reasoning.delta', ...place, content_index: 0, delta: 'think' },
    { type: 'response.audio.delta', ...place, delta: 'UklGRg==' },
  ])
  for (const event of list) t.strictSame(problemsOfResponsesEvent(event), [])
  const { delivered } = relayed([textOf(list)]).relay
  t.strictSame([delivered.texts, delivered.reasoningTexts], [[''], ['Let me think']])
})

t.test('what is kept of a text is bounded, and the rest is counted', async (t) => {
  const relay = new ResponsesRelay(targetOf(), askedOf({}, true))
  const delta = 'x'.repeat(1024 * 1024)
  const event = Buffer.from(sse({ type: 'response.output_text.delta', output_index: 0, delta }))
  for (let at = 0; at < 6; at += 1) relay.push(event)
  t.equal(relay.delivered.texts[0]?.length, providerLimits.deliveredCharactersMax)
  t.equal(relay.delivered.charactersBeyond, 2 * 1024 * 1024)
  const whole = { type: 'response.output_item.done', output_index: 0, item: messageOf(delta) }
  relay.push(Buffer.from(sse(whole)))
  t.strictSame([relay.delivered.texts[0]?.length, relay.delivered.charactersBeyond], [delta.length, 0])
})

t.test('items beyond the bound share the last place', async (t) => {
  const relay = new ResponsesRelay(targetOf(), askedOf({}, true))
  for (const output_index of [providerLimits.upstreamOutputItemsMax, 1e9])
    relay.push(Buffer.from(sse({ type: 'response.output_text.delta', output_index, delta: 'x' })))
  t.strictSame(relay.delivered.texts, ['xx'])
})

t.test('a response that is written anew keeps integers beyond 2^53', async (t) => {
  const wide = '9007199254740993'
  const { usage: _usage, ...bare } = responseOf(items)
  const withWide = (type: string, response: JsonObject): string =>
    sse({ type, response: { ...response, vendor: 'WIDE' } }).replace('"WIDE"', wide)
  const ended = new ResponsesRelay(targetOf(), askedOf({ tools }))
  ended.push(Buffer.from(body + withWide('response.completed', bare)))
  t.match(Buffer.from(ended.closing(noUsage)).toString(), `"vendor":${wide}`)
  const failed = new ResponsesRelay(targetOf(), askedOf({ tools }))
  failed.push(Buffer.from(body + withWide('response.failed', { ...bare, status: 'failed' })))
  t.match(JSON.stringify(failed.failedResponse), `"vendor":${wide}`)
})
