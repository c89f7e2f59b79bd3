import fc from 'fast-check'
import t from 'tap'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'
import { ChatRelay } from '../../../src/providers/openai/relay.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { askedOf, targetOf } from './target.ts'

const event = (value: JsonObject): string => `data: ${JSON.stringify(value)}\n\n`
const identity = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 7, model: 'm' }
const chunk = (delta: JsonObject, finish: string | null = null, more: JsonObject = {}): string =>
  event({ ...identity, choices: [{ index: 0, delta, finish_reason: finish }], ...more })
const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
const usageChunk = event({ ...identity, choices: [], usage })
const done = 'data: [DONE]\n\n'
const hello = chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hel' }) + chunk({ content: 'lo' })
const finish = chunk({}, 'stop')

interface Relayed {
  readonly relay: ChatRelay
  /** What was given out before the end. */
  readonly text: string
  readonly writes: number
}

const relayed = (pieces: readonly (string | Uint8Array)[], body: JsonObject = {}, profile?: Profile): Relayed => {
  const relay = new ChatRelay(targetOf(profile), askedOf(body, true))
  const given = pieces.map((piece) => relay.push(Buffer.from(piece)))
  given.push(relay.end())
  const written = given.filter((bytes) => bytes !== null)
  return { relay, text: Buffer.concat(written).toString(), writes: written.length }
}

const wantsUsage = { stream_options: { include_usage: true } }

t.test('the end stays back until it is asked for', async (t) => {
  const { relay, text } = relayed([hello + finish + usageChunk + done], wantsUsage)
  t.equal(text, hello + finish + usageChunk)
  t.equal(relay.state, 'done')
  t.equal(Buffer.from(relay.closing(null)).toString(), done)
  t.strictSame(relay.reportedUsage, { ...noUsage, inputUncached: 5, outputTotal: 2, promptTotal: 5 })
  t.strictSame(relay.delivered.texts, ['Hello'])
})

t.test('the service tier is known from the chunk that names it on', async (t) => {
  const tierOf = (tier: unknown) =>
    relayed([hello, chunk({ content: 'x' }, null, { service_tier: tier })]).relay.servedWith
  t.strictSame(tierOf('default'), {})
  t.strictSame(tierOf('priority'), { serviceTier: 'priority' })
  for (const none of ['auto', null, undefined]) t.equal(tierOf(none), undefined)
})

t.test('what stands behind the closing event goes with it', async (t) => {
  const { relay, text } = relayed([`${hello}${done}: bye\n\n`])
  t.equal(text, hello)
  t.equal(Buffer.from(relay.closing(null)).toString(), `${done}: bye\n\n`)
})

t.test('the usage chunk is dropped for a caller that did not ask', async (t) => {
  const { relay, text, writes } = relayed([hello + finish + usageChunk + done])
  t.equal(text, hello + finish)
  t.equal(writes, 1, 'all that came together is one write')
  t.equal(relay.reportedUsage?.promptTotal, 5)
})

t.test('usage beside choices is stripped, the chunk stays', async (t) => {
  const both = chunk({ content: 'x' }, 'stop', { usage })
  t.equal(relayed([both + done]).text, chunk({ content: 'x' }, 'stop'))
  t.equal(relayed([both + done], wantsUsage).text, both)
})

t.test('a caller that did not ask for usage is given no such member, and every other byte as it came', async (t) => {
  const begun = chunk({ role: 'assistant', content: '' })
  const choices = '"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]'
  const written =
    '"choices":[{"index":0,"delta":{"content":"\\"usage\\":null,\\"usage\\": null}"},"finish_reason":null}]'
  const nested = '"choices":[{"index":0,"delta":{"usage":null,"a":{"usage":null}},"logprobs":null}]'
  const table: readonly [name: string, data: string, without: string][] = [
    ['last', `{"id":"1",${choices},"usage":null}`, `{"id":"1",${choices}}`],
    ['before more', `{${choices},"usage":null,"obfuscation":"a}{"}`, `{${choices},"obfuscation":"a}{"}`],
    ['first', `{"usage":null,"id":"1",${choices}}`, `{"id":"1",${choices}}`],
    ['spaces', `{ "id": "1", ${choices} , "usage" : null }`, `{ "id": "1", ${choices} }`],
    ['tabs, before more', `{"id":"1",\t"usage":\tnull,\t${choices}}`, `{"id":"1",\t\t${choices}}`],
    ['in the text of the model', `{"id":"1",${written}}`, `{"id":"1",${written}}`],
    ['in the text of the model too', `{"id":"1",${written},"usage":null}`, `{"id":"1",${written}}`],
    ['deeper down too', `{${nested},"usage":null}`, `{${nested}}`],
    ['deeper down', `{${nested}}`, `{${nested}}`],
    ['as text', `{${choices},"a":"usage","usage":null,"b":"x"}`, `{${choices},"a":"usage","b":"x"}`],
    ['behind an odd key', `{${choices},"a\\"usage":null,"usage":null}`, `{${choices},"a\\"usage":null}`],
    ['behind a backslash', `{${choices},"a":"\\\\","usage":null}`, `{${choices},"a":"\\\\"}`],
    [
      'odd figures',
      `{"created":1.0,"n":9007199254740993,${choices},"usage":null}`,
      `{"created":1.0,"n":9007199254740993,${choices}}`,
    ],
    ['escapes', `{"id":"\\u00e9\\/ é🙂",${choices},"usage":null}`, `{"id":"\\u00e9\\/ é🙂",${choices}}`],
    [
      'no choices',
      '{"choices":[],"prompt_filter_results":[],"usage":null}',
      '{"choices":[],"prompt_filter_results":[]}',
    ],
    ['no figures', `{${choices},"usage":0}`, `{${choices}}`],
    [
      'figures beside choices',
      `{"n":1.0,${choices},"usage":{"prompt_tokens":5,"completion_tokens":2}}`,
      `{"n":1.0,${choices}}`,
    ],
    ['another spelling', `{${choices},"us\\u0061ge":null}`, `{${choices}}`],
    ['figures deeper down behind it', `{"usage":null,${nested}}`, `{${nested}}`],
    ['text behind it', `{"usage":null,${choices},"a":"usage"}`, `{${choices},"a":"usage"}`],
  ]
  for (const [name, data, without] of table)
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const end = lineEnd + lineEnd
      const opening = begun.replaceAll('\n', lineEnd)
      const given = relayed([`${opening}data: ${data}${end}`]).text.slice(opening.length)
      const isRewritten = /spelling|behind it$/.test(name)
      t.equal(given, `data: ${without}${isRewritten ? '\n\n' : end}`, name)
      t.equal(relayed([`${opening}data: ${data}${end}`], wantsUsage).text, `${opening}data: ${data}${end}`, name)
    }
})

t.test('whatever a chunk holds, it loses its usage and nothing else', async () => {
  const member = (value: unknown): string => `"usage":${JSON.stringify(value)}`
  const spaced = fc.constantFrom('', ' ', '\t', '  ')
  const made = fc.record({
    members: fc.dictionary(
      fc.string({ unit: 'binary' }).filter((name) => name !== 'usage' && name !== 'error'),
      fc.jsonValue(),
      { maxKeys: 5 },
    ),
    usage: fc.constantFrom(null, null, 0, 'none', [], usage),
    at: fc.nat(),
    before: spaced,
    after: spaced,
  })
  fc.assert(
    fc.property(made, ({ members, usage, at, before, after }) => {
      const parts = Object.entries({ ...members, choices: [{ delta: members }] }).map(
        ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`,
      )
      const place = at % (parts.length + 1)
      const all = [...parts.slice(0, place), `${before}${member(usage)}${after}`, ...parts.slice(place)]
      const given = relayed([`${hello}data: {${all.join()}}\n\n`]).text.slice(hello.length)
      const data = given.slice('data: '.length).trimEnd()
      return data.replaceAll(/[ \t]/g, '') === `{${parts.join()}}`.replaceAll(/[ \t]/g, '')
    }),
    propertyRuns(500),
  )
})

t.test('usage that is repeated is cumulative: the last counts', async (t) => {
  const at = (completion: number) =>
    chunk({ content: 'x' }, null, {
      usage: { prompt_tokens: 5, completion_tokens: completion, total_tokens: 5 + completion },
    })
  const { relay } = relayed([at(1) + at(2) + at(3) + finish + done], {}, 'gemini')
  t.equal(relay.reportedUsage?.outputTotal, 3)
})

t.test('any cut gives the same bytes', async () => {
  const crlf = (text: string): string => text.replaceAll('\n', '\r\n')
  const cr = (text: string): string => text.replaceAll('\n', '\r')
  const full = `: keep-alive\n\n${chunk({ content: 'naïve 🙂' })}${chunk({ content: 'b' }, null, { usage })}${chunk({ content: 'c' }, null, { usage: null })}${finish}${usageChunk}: late\n\n${done}`
  const variants = [full, crlf(full), cr(full)].map((text) => Buffer.from(text))
  fc.assert(
    fc.property(fc.constantFrom(...variants), fc.array(fc.nat(), { maxLength: 20 }), (bytes, places) => {
      const at = [0, ...places.map((place) => place % bytes.length), bytes.length].sort((a, b) => a - b)
      const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      const [uncut, cut] = [relayed([bytes]), relayed(pieces)]
      if (uncut.text !== cut.text || cut.relay.state !== 'done') throw new Error(`${cut.text}\n${uncut.text}`)
    }),
    { numRuns: 1_000 },
  )
})

t.test('the first event decides', async (t) => {
  const failing: readonly [string, string][] = [
    [event({ error: { message: 'no' } }), 'error_in_stream'],
    ['event: error\ndata: {"message":"no"}\n\n', 'error_in_stream'],
    ['data: {nonsense\n\n', 'not_json'],
    [event({ hello: 1 }), 'not_a_chat_stream'],
    [done, 'empty_answer'],
    ['<html>\n\n</html>', 'empty_answer'],
    ['', 'empty_answer'],
  ]
  for (const [text, fault] of failing) {
    const { relay, text: given } = relayed([`: wait\n\n${text}`])
    t.strictSame([relay.answering, relay.state, relay.fault, given], [false, 'broken', fault, ''])
  }
})

t.test('comments before the first event wait for it', async (t) => {
  const relay = new ChatRelay(targetOf(), askedOf({}, true))
  t.equal(relay.push(Buffer.from(': wait\n\n')), null)
  t.equal(Buffer.from(relay.push(Buffer.from(hello)) ?? '').toString(), `: wait\n\n${hello}`)
})

t.test('a stream breaks', async (t) => {
  const table: readonly [string, string, string][] = [
    ['an error inside', hello + event({ error: { message: 'secret host' } }) + hello, 'error_in_stream'],
    ['garbage', `${hello}data: {nonsense\n\n${hello}`, 'not_json'],
    ['an early end', hello, 'ended_early'],
    ['an end inside an event', `${hello}data: {"choi`, 'ended_early'],
  ]
  for (const [name, text, fault] of table) {
    const { relay, text: given } = relayed([text])
    t.strictSame([relay.state, relay.fault, given], ['broken', fault, hello], name)
  }
})

t.test('an upstream may forget its closing event', async (t) => {
  const { relay, text } = relayed([hello + finish + usageChunk])
  t.equal(relay.state, 'done')
  t.equal(text, hello + finish)
  t.equal(Buffer.from(relay.closing(null)).toString(), done)
})

t.test('an upstream may forget the last blank line', async (t) => {
  const { relay, text } = relayed([`${hello}${finish}data: [DONE]`])
  t.equal(relay.state, 'done')
  t.equal(text, hello + finish)
  t.match(Buffer.from(relay.closing(null)).toString(), /^data: \[DONE\]\n\n$/)
})

t.test('of two answers one is not the end', async (t) => {
  const second = event({ ...identity, choices: [{ index: 1, delta: { content: 'b' }, finish_reason: null }] })
  t.equal(relayed([hello + second + finish], { n: 2 }).relay.state, 'broken')
  t.equal(relayed([hello + finish], { n: 2 }).relay.state, 'broken')
  const secondEnd = event({ ...identity, choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] })
  t.equal(relayed([hello + second + finish + secondEnd], { n: 2 }).relay.state, 'done')
})

t.test('a counted usage is told to a caller that asked', async (t) => {
  const counted = { ...noUsage, inputUncached: 9, promptTotal: 9, outputTotal: 4, outputReasoning: 1 }
  const closing = (body: JsonObject) =>
    Buffer.from(relayed([hello + finish + done], body).relay.closing(counted)).toString()
  t.equal(closing({}), done)
  const [told, end] = closing(wantsUsage).split(/(?<=\n\n)/)
  t.equal(end, done)
  t.strictSame(JSON.parse(told?.slice(6) ?? ''), {
    ...identity,
    choices: [],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 4,
      total_tokens: 13,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 1 },
    },
  })
})

t.test('all that was said is collected, choice by choice', async (t) => {
  const toolCall = (call: JsonObject) => chunk({ tool_calls: [{ index: 0, ...call }] })
  const other = event({ ...identity, choices: [{ index: 1, delta: { content: 'other' }, finish_reason: 'stop' }] })
  const { relay } = relayed([
    chunk({ reasoning_content: 'think' }) + chunk({ content: 'say ', refusal: 'no ' }) + other,
    toolCall({ id: 'c', function: { name: 'find', arguments: '{"a"' } }) + toolCall({ function: { arguments: ':1}' } }),
    finish + done,
  ])
  t.strictSame(relay.delivered.texts, ['say no find{"a":1}', 'other'])
  t.strictSame(relay.delivered.reasoningTexts, ['think', ''])
})

t.test('a chunk that is written anew keeps integers beyond 2^53', async (t) => {
  const wide = '9007199254740993'
  const first = `event: chunk\ndata: {"id":"c","created":${wide},"model":"m","vendor":${wide},"usage":null,"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n`
  const { relay, text } = relayed([first + finish + done])
  t.match(text, `"vendor":${wide}`)
  t.notMatch(text, 'usage')
  const asked = relayed([first + finish + done], wantsUsage)
  t.match(Buffer.from(asked.relay.closing(noUsage)).toString(), `"created":${wide}`)
  t.equal(relay.state, 'done')
})
