import fc from 'fast-check'
import t from 'tap'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { MessagesRelay } from '../../../src/providers/anthropic/relay.ts'
import { streamOf } from './target.ts'

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
const startWith = (usage: unknown): string => streamOf([{ type: 'message_start', message: { ...message, usage } }])
const start = startWith({ input_tokens: 25, cache_read_input_tokens: 100, output_tokens: 1 })
const ping = streamOf([{ type: 'ping' }])
const block = (index: number, content_block: JsonObject, ...deltas: readonly JsonObject[]): string =>
  streamOf([
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ])
const text = (words: string, index = 0): string =>
  block(index, { type: 'text', text: '' }, { type: 'text_delta', text: words })
const endWith = (more: JsonObject): string =>
  streamOf([{ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, ...more }])
const end = endWith({ usage: { output_tokens: 15 } })
const stop = streamOf([{ type: 'message_stop' }])
const overloaded = streamOf([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }])

interface Relayed {
  readonly relay: MessagesRelay
  /** What was given out before the end. */
  readonly text: string
}

const relayed = (pieces: readonly (string | Uint8Array)[]): Relayed => {
  const relay = new MessagesRelay('anthropic')
  const given = pieces.map((piece) => relay.push(Buffer.from(piece)))
  given.push(relay.end())
  return { relay, text: Buffer.concat(given.filter((bytes) => bytes !== null)).toString() }
}

const closingOf = ({ relay }: Relayed, counted: typeof noUsage | null = null): string =>
  Buffer.from(relay.closing(counted)).toString()

t.test('the end stays back until it is asked for', async (t) => {
  const whole = relayed([start + ping + text('Hello') + end + stop])
  t.equal(whole.text, start + ping + text('Hello') + end)
  t.equal(whole.relay.state, 'done')
  t.ok(whole.relay.isFinished)
  t.equal(closingOf(whole), stop)
  t.strictSame(whole.relay.reportedUsage, {
    ...noUsage,
    inputUncached: 25,
    cacheRead: 100,
    outputTotal: 15,
    promptTotal: 125,
  })
  t.strictSame(whole.relay.delivered.texts, ['Hello'])
})

t.test('what stands behind the closing event goes with it', async (t) => {
  const whole = relayed([`${start}${text('a')}${end}${stop}: bye\n\n`])
  t.equal(closingOf(whole), `${stop}: bye\n\n`)
})

t.test('all that we do not know passes untouched', async (t) => {
  const strange =
    block(0, { type: 'thinking', thinking: '', signature: '' }, { type: 'thinking_delta', thinking: 'hm' }) +
    block(1, { type: 'redacted_thinking', data: 'opaque' }) +
    block(2, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }) +
    block(3, { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'web_search_result' }] }) +
    block(4, { type: 'text', text: '', citations: [] }, { type: 'citations_delta', citation: { url: 'u' } }) +
    block(
      5,
      { type: 'tool_use', id: 'u', name: 'find', input: {} },
      { type: 'input_json_delta', partial_json: '{"a":1}' },
    ) +
    block(6, { type: 'new_block' }, { type: 'new_delta', x: 1 }) +
    streamOf([{ type: 'new_event', more: [1] }])
  const { relay, text: given } = relayed([`: hi\n\n${start}${strange}${end}${stop}`])
  t.equal(given, `: hi\n\n${start}${strange.replace('opaque', 'gw1:anthropic:opaque')}${end}`, 'but for the mark')
  t.strictSame(relay.delivered.texts, ['web_searchfind{"a":1}'])
  t.strictSame(relay.delivered.reasoningTexts, ['hm'])
  t.strictSame(relay.delivered.toolCalls, { web_search: 1 })
})

t.test('cut at every byte the stream is the same', async (t) => {
  const told = { output_tokens: 15, server_tool_use: { web_search_requests: 1 } }
  const unix = `: keep-alive\n\n${start}${ping}${text('naïve 🙂')}${endWith({ usage: told })}${stop}`
  const untold = `${start}${text('a')}${endWith({})}${stop}`
  const counted = { ...noUsage, inputUncached: 9, promptTotal: 9, outputTotal: 4 }
  for (const stream of [
    unix,
    unix.replaceAll('\n', '\r\n'),
    unix.replaceAll('\n', '\r'),
    untold.replaceAll('\n', '\r\n'),
  ]) {
    const bytes = Buffer.from(stream)
    const whole = relayed([bytes])
    for (let at = 1; at < bytes.length; at += 1) {
      const cut = relayed([bytes.subarray(0, at), bytes.subarray(at)])
      const same =
        cut.text === whole.text &&
        closingOf(cut, counted) === closingOf(whole, counted) &&
        JSON.stringify(cut.relay.reportedUsage) === JSON.stringify(whole.relay.reportedUsage) &&
        cut.relay.state === 'done'
      if (!same) t.fail(`cut at ${at}`)
    }
    const single = relayed([...bytes].map((byte) => Buffer.from([byte])))
    t.equal(single.text, whole.text)
    t.equal(closingOf(single, counted), closingOf(whole, counted))
  }
})

t.test('nothing goes out before the candidate answers', async (t) => {
  const relay = new MessagesRelay('anthropic')
  t.equal(relay.push(Buffer.from(ping + start + ping)), null)
  t.notOk(relay.answering)
  const first = streamOf([{ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }])
  t.equal(Buffer.from(relay.push(Buffer.from(first)) ?? '').toString(), ping + start + ping + first)
  t.ok(relay.answering)
})

t.test('an error within an answer keeps its type where it is not about the account', async (t) => {
  const failedWith = (error: unknown): unknown =>
    relayed([start + text('a') + streamOf([{ type: 'error', error }])]).relay.failedResponse
  t.strictSame(failedWith({ type: 'overloaded_error', message: 'Overloaded' }), { error: { type: 'overloaded_error' } })
  for (const type of ['permission_error', 'billing_error', 'anything', undefined]) t.equal(failedWith({ type }), null)
  t.equal(relayed([start + text('a')]).relay.failedResponse, null)
})

t.test('another candidate may serve', async (t) => {
  const failing: readonly [string, string][] = [
    [overloaded, 'error_in_stream'],
    [start + overloaded, 'error_in_stream'],
    [start + ping + overloaded, 'error_in_stream'],
    ['event: error\ndata: {"message":"no"}\n\n', 'error_in_stream'],
    [streamOf([{ error: { message: 'no' } }]), 'error_in_stream'],
    ['data: {nonsense\n\n', 'not_json'],
    [text('a'), 'not_a_messages_stream'],
    ['data: {"choices":[]}\n\n', 'not_a_messages_stream'],
    [start + stop, 'empty_answer'],
    [start, 'empty_answer'],
    [stop, 'not_a_messages_stream'],
    ['<html>\n\n</html>', 'empty_answer'],
    ['', 'empty_answer'],
  ]
  for (const [stream, fault] of failing) {
    const { relay, text: given } = relayed([stream])
    t.strictSame([relay.answering, relay.state, relay.fault, given], [false, 'broken', fault, ''], stream)
  }
})

t.test('a stream breaks', async (t) => {
  const table: readonly [string, string, string][] = [
    ['an error inside', start + text('a') + overloaded + text('b', 1), 'error_in_stream'],
    ['garbage', `${start}${text('a')}data: {nonsense\n\n${text('b', 1)}`, 'not_json'],
    ['an early end', start + text('a'), 'ended_early'],
    ['an end inside an event', `${start}${text('a')}event: message_de`, 'ended_early'],
  ]
  for (const [name, stream, fault] of table) {
    const { relay, text: given } = relayed([stream])
    t.strictSame([relay.state, relay.fault, given], ['broken', fault, start + text('a')], name)
    t.strictSame(
      [relay.isFinished, relay.reportedUsage?.promptTotal],
      [false, 125],
      `${name}: the start tells the input`,
    )
  }
})

t.test('an interrupted stream knows the searches that were seen', async (t) => {
  const found = block(0, { type: 'web_search_tool_result', tool_use_id: 's', content: [] })
  const failed = block(1, { type: 'web_search_tool_result', tool_use_id: 's', content: { error_code: 'unavailable' } })
  t.strictSame(relayed([start + found + failed]).relay.delivered.toolCalls, { web_search: 1 })
  const told = endWith({ usage: { output_tokens: 5, server_tool_use: { web_search_requests: 0 } } })
  t.strictSame(
    relayed([start + found + told + stop]).relay.reportedUsage?.toolCalls,
    {},
    'the provider has the last word',
  )
})

t.test('an upstream may forget its closing event, and the last blank line', async (t) => {
  const forgotten = relayed([start + text('a') + end])
  t.equal(forgotten.relay.state, 'done')
  t.equal(closingOf(forgotten), stop)
  const unended = relayed([`${start}${text('a')}${end}${stop.trimEnd()}`])
  t.equal(unended.relay.state, 'done')
  t.match(closingOf(unended), /^event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/)
})

t.test('an end without usage waits for ours', async (t) => {
  const counted = { ...noUsage, inputUncached: 9, promptTotal: 9, outputTotal: 4, outputReasoning: 1 }
  const whole = relayed([startWith(null) + text('a') + endWith({}) + ping + stop])
  t.equal(whole.text, startWith(null) + text('a'))
  t.strictSame([whole.relay.state, whole.relay.isFinished, whole.relay.reportedUsage], ['done', false, null])
  const usage = {
    input_tokens: 9,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 4,
    output_tokens_details: { thinking_tokens: 1 },
    server_tool_use: null,
  }
  t.equal(closingOf(whole, counted), endWith({ usage }) + ping + stop)
})

t.test('usage is final where nothing was said behind it', async (t) => {
  const told = endWith({ usage: { output_tokens: 5 } })
  const last = relayed([start + text('a') + told + stop]).relay
  t.strictSame([last.state, last.isFinished, last.reportedUsage?.outputTotal], ['done', true, 5])
  const early = relayed([start + told + text('a') + endWith({}) + stop]).relay
  t.strictSame([early.state, early.isFinished, early.reportedUsage?.outputTotal], ['done', false, 5])
})

t.test('the start tells the input; what it tells of the output is none yet', async (t) => {
  const usage = { cache_read_input_tokens: 100, cache_creation: { ephemeral_1h_input_tokens: 7 } }
  const details = { output_tokens_details: { thinking_tokens: 2 } }
  for (const told of [{ output_tokens: 1 }, { output_tokens: 8, ...details }, {}, { output_tokens: null }]) {
    const { relay } = relayed([startWith({ input_tokens: 25, ...usage, ...told }) + text('a')])
    t.notOk(relay.isFinished)
    t.strictSame(relay.reportedUsage, {
      ...noUsage,
      inputUncached: 25,
      cacheRead: 100,
      cacheWrite1h: 7,
      promptTotal: 132,
    })
  }
  const ended = relayed([start + text('a') + endWith({ usage: { output_tokens: 9 }, delta: {} })]).relay
  t.strictSame([ended.isFinished, ended.reportedUsage?.outputTotal], [false, 9], 'what a delta tells is cumulative')
})

t.test('words are read as JSON says them, however they are written', async () => {
  const said = (text: string, padding: string): string => {
    const json = JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
    return `event: content_block_delta\ndata: ${json.slice(0, -1)}${padding}}${padding}\n\n`
  }
  const opening =
    start + streamOf([{ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }])
  const texts = fc.array(
    fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', '\u2028', '{"}', '"}}', '')),
  )
  fc.assert(
    fc.property(texts, fc.constantFrom('', ' ', '    '), (words, padding) => {
      const stream = opening + words.map((word) => said(word, padding)).join('')
      const { relay, text: given } = relayed([stream])
      return relay.delivered.texts.join('') === words.join('').toWellFormed() && given === stream
    }),
  )
})

t.test('words where none may stand', async (t) => {
  const words = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }
  const early = relayed([streamOf([words])]).relay
  t.strictSame([early.answering, early.fault], [false, 'not_a_messages_stream'])
  const named = relayed([`${start}event: error\ndata: ${JSON.stringify(words)}\n\n`]).relay
  t.strictSame([named.answering, named.fault], [false, 'error_in_stream'])
  const broken = relayed([`${start}${text('a')}data: ${JSON.stringify(words).slice(0, -1)}\n\n`]).relay
  t.equal(broken.fault, 'not_json')
  const late = relayed([start + text('a') + endWith({}) + streamOf([words]) + stop])
  t.equal(late.text, start + text('a'), 'what stands behind what is withheld is withheld')
  t.strictSame(late.relay.delivered.texts, ['aa'])
})

t.test('an end that is written anew keeps integers beyond 2^53', async (t) => {
  const wide = '9007199254740993'
  const unfinished = `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"vendor":${wide}}\n\n`
  const whole = relayed([start + text('Hello') + unfinished + stop])
  t.match(closingOf(whole, noUsage), `"vendor":${wide}`)
})
