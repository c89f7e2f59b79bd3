import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { asArray, asObject, asText, parseJson } from '../../../src/encoding/json.ts'
import { EventStreamSplitter } from '../../../src/providers/bedrock/event-stream.ts'
import type { StreamRelay } from '../../../src/providers/dialect/dialect.ts'
import { dialects } from '../../../src/providers/dialects.ts'
import { frame } from '../../support/clouds/converse.ts'
import { askedOf, claude, nova, targetOf } from './target.ts'

const read = (name: string): Promise<Buffer> => readFile(new URL(`recorded/${name}.bin`, import.meta.url))

const openChat = (model: string = nova): StreamRelay =>
  dialects.bedrock.chat.openRelay(targetOf(model), askedOf({ stream: true }, true))
const openMessages = (model: string): StreamRelay =>
  dialects.bedrock.messages.openRelay(targetOf(model), askedOf({ stream: true }, true))

/** All that a client gets of it. */
const relayed = (relay: StreamRelay, bytes: Uint8Array, pieceBytes: number): string => {
  let text = ''
  for (let at = 0; at < bytes.length; at += pieceBytes)
    text += Buffer.from(relay.push(bytes.subarray(at, at + pieceBytes)) ?? []).toString()
  text += Buffer.from(relay.end() ?? []).toString()
  return relay.state === 'done' ? text + Buffer.from(relay.closing(null)).toString() : text
}

const jsonEvents = (sse: string) =>
  sse
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => asObject(parseJson(line.slice(6))))

const chatDeltas = (sse: string) =>
  jsonEvents(sse).flatMap(({ choices }) => asArray(choices).map((choice) => asObject(asObject(choice)['delta'])))

const checkCuts = (t: Test, bytes: Buffer, open: () => StreamRelay): string => {
  const whole = relayed(open(), bytes, bytes.length)
  for (const pieceBytes of [1, 3, 64, 1_000]) t.equal(relayed(open(), bytes, pieceBytes), whole, `${pieceBytes} bytes`)
  return whole
}

t.test('recorded streams of Converse, as chat clients get them, wherever they are cut', async (t) => {
  for (const [name, prompt, output, text] of [
    ['converse-stream-text', 13, 82, /^The capital of France is Paris\. .* "The City of Love\."$/s],
    ['converse-stream-tool-call', 471, 91, /^<thinking> To find the temperature.*<\/thinking>\n$/s],
    ['converse-stream-tool-pieces', 414, 114, /^I can certainly help you with the weather/],
    ['converse-stream-thinking', 36, 73, /^Hello! It's nice to meet you\. How can I help you today\?$/],
    ['converse-stream-redacted', 92, 253, /^I notice you've sent .* talk about today\?$/s],
  ] as const) {
    const bytes = await read(name)
    const sse = checkCuts(t, bytes, openChat)
    t.match(
      chatDeltas(sse)
        .map(({ content }) => asText(content))
        .join(''),
      text,
      name,
    )
    const relay = openChat()
    relayed(relay, bytes, 100)
    t.match(relay, { state: 'done', isFinished: true, reportedUsage: { promptTotal: prompt, outputTotal: output } })
  }
})

t.test('tool calls of a stream come whole', async (t) => {
  for (const [name, called, given] of [
    ['converse-stream-tool-call', 'get_temperature', { city: 'Paris' }],
    ['converse-stream-tool-pieces', 'get_weather', { location: 'San Francisco, CA', unit: 'fahrenheit' }],
  ] as const) {
    const bytes = await read(name)
    const calls = chatDeltas(relayed(openChat(), bytes, 50)).flatMap(({ tool_calls }) => asArray(tool_calls))
    const functions = calls.map((call) => asObject(asObject(call)['function']))
    t.equal(functions.map((each) => asText(each['name'])).join(''), called)
    t.same(JSON.parse(functions.map((each) => asText(each['arguments'])).join('')), given)
  }
  const bare = [
    frame('event', 'messageStart', { role: 'assistant' }),
    frame('event', 'contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'a', name: 'now' } } }),
    frame('event', 'contentBlockStop', { contentBlockIndex: 0 }),
    frame('event', 'messageStop', { stopReason: 'tool_use' }),
    frame('event', 'metadata', { usage: { inputTokens: 1, outputTokens: 1 } }),
  ]
  t.match(relayed(openChat(), Buffer.concat(bare), 50), /"arguments":"\{\}"/)
})

t.test('thinking goes to clients of messages behind the mark of who made it', async (t) => {
  const thought = jsonEvents(relayed(openMessages(nova), await read('converse-stream-thinking'), 100))
  const deltas = thought.map(({ delta }) => asObject(delta))
  t.match(deltas.map(({ thinking }) => asText(thinking)).join(''), /^The user has greeted me/)
  t.match(deltas.map(({ signature }) => asText(signature)).join(''), /^gw1:bedrock%2F%2Fnova:Eu0CCkgI/)
  const redacted = jsonEvents(relayed(openMessages(nova), await read('converse-stream-redacted'), 100))
  const blocks = redacted.map(({ content_block }) => asObject(content_block))
  t.equal(blocks.filter(({ type }) => type === 'redacted_thinking').length, 2)
})

t.test('a recorded stream of Claude in its own format is relayed, without the metrics of the operator', async (t) => {
  const bytes = await read('invoke-stream-text')
  const sse = checkCuts(t, bytes, () => openMessages(claude))
  t.match(
    sse,
    /^event: message_start\ndata: \{"type":"message_start","message":\{"id":"msg_bdrk_012fwxwrP37WDKPK1ShXbCNH"/,
  )
  t.match(sse, /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/)
  t.notMatch(sse, /amazon-bedrock/)
  const chat = openChat(claude)
  t.match(
    chatDeltas(relayed(chat, bytes, 100))
      .map(({ content }) => asText(content))
      .join(''),
    /^Here's a short story/,
  )
  t.match(chat.reportedUsage, { promptTotal: 12, outputTotal: 100 })
})

t.test('an error within Claude’s own stream keeps its type', async (t) => {
  const events = [
    { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  ]
  const chunks = events.map((event) => ({ bytes: Buffer.from(JSON.stringify(event)).toString('base64') }))
  const relay = openMessages(claude)
  relay.push(Buffer.concat(chunks.map((chunk) => frame('event', 'chunk', chunk))))
  t.match(relay, { state: 'broken', fault: 'error_in_stream', failedResponse: { error: { type: 'overloaded_error' } } })
})

t.test('an exception breaks a stream: before its first text another candidate serves', async (t) => {
  const exception = await read('stream-exception')
  for (const [open, model] of [
    [openChat, nova],
    [openChat, claude],
    [openMessages, claude],
  ] as const) {
    const early = open(model)
    t.equal(relayed(early, exception, 10), '')
    t.match(early, { state: 'broken', answering: false, fault: 'error_in_stream' })
  }
  const text = (await read('converse-stream-text')).subarray(0, 600)
  const late = openChat()
  relayed(
    late,
    Buffer.concat([text.subarray(0, text.readUInt32BE(0) + text.readUInt32BE(text.readUInt32BE(0))), exception]),
    90,
  )
  t.match(late, { state: 'broken', answering: true, reportedUsage: null })
})

t.test('a stream that ends before its metadata has no usage, and is not finished', async (t) => {
  const bytes = await read('converse-stream-text')
  const relay = openChat()
  const withoutMetadata = bytes.subarray(0, bytes.length - 239)
  relay.push(withoutMetadata)
  t.match(relay, { state: 'open', contentIsOver: true, isFinished: false, reportedUsage: null })
  relay.push(bytes.subarray(withoutMetadata.length))
  t.match(relay, { state: 'done', isFinished: true, reportedUsage: { outputTotal: 82 } })
})

t.test('one changed byte breaks the stream, and nothing after it is believed', async (t) => {
  const bytes = await read('converse-stream-text')
  fc.assert(
    fc.property(
      fc.nat(bytes.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.integer({ min: 1, max: 2_000 }),
      (at, by, cut) => {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ by
        const relay = openChat()
        relayed(relay, changed, cut)
        return relay.state === 'broken' && relay.reportedUsage === null
      },
    ),
    { numRuns: 200 },
  )
  const last = Buffer.from(bytes)
  last[6_355] = last[6_355]! ^ 1 // The length of the last message: without its checksum the rest would be waited for.
  const relay = openChat()
  relayed(relay, last, 1)
  t.equal(relay.state, 'broken')
  t.throws(() => new EventStreamSplitter().push(Buffer.from([0xff, 0xff, 0xff, 0xff])), /a message of 4294967295 bytes/)
  t.throws(() => new EventStreamSplitter().push(Buffer.from([0, 0, 0, 3])), /a message of 3 bytes/)
})

t.test('a message that comes byte by byte costs its length, not its square', async (t) => {
  const long = frame('event', 'contentBlockDelta', { delta: { text: 'x'.repeat(2_000_000) } })
  const splitter = new EventStreamSplitter()
  let messages = 0
  for (let at = 0; at < long.length; at += 16) messages += splitter.push(long.subarray(at, at + 16)).length
  t.equal(messages, 1)
})
