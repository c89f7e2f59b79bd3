import fc from 'fast-check'
import t from 'tap'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { ReplyEvent } from '../../../src/providers/canonical/reply.ts'
import { SseSplitter } from '../../../src/providers/dialect/sse.ts'
import { GenerateContentReader } from '../../../src/providers/google/reader.ts'
import { answerOf, blocked, groundedText, groundingMetadata, parallelCalls, streamOf, usageOf } from './answers.ts'
import { type Model, targetOf } from './target.ts'

interface Heard {
  readonly events: readonly ReplyEvent[]
  readonly fault: string | null
  readonly isFinished: boolean
}

const heard = (pieces: readonly (string | Uint8Array)[], model: Model = 'gemini-3.7-flash'): Heard => {
  const reader = new GenerateContentReader(targetOf(model))
  const splitter = new SseSplitter()
  const blocks = pieces.flatMap((piece) => splitter.push(Buffer.from(piece)))
  const events: ReplyEvent[] = []
  for (const block of blocks) {
    const said = reader.read(block)
    if ('fault' in said) return { events, fault: said.fault, isFinished: reader.isFinished }
    events.push(...said)
  }
  return { events, fault: null, isFinished: reader.isFinished }
}

const usage = (prompt: number, candidates: number, thoughts = 0) => ({
  ...noUsage,
  inputUncached: prompt,
  outputTotal: candidates + thoughts,
  outputReasoning: thoughts,
  promptTotal: prompt,
})
const id = 'WQuqavG5KbfUjMcPuP_n6QI'

t.test('thinking, text, and the end; usage is cumulative and the last one counts', async (t) => {
  const stream = streamOf(
    answerOf([{ text: 'Hm.', thought: true }], null, { ...usageOf(7, 0, 40), totalTokenCount: 47 }),
    answerOf([{ text: 'fixture ' }], null, usageOf(7, 1, 94)),
    answerOf([{ text: 'ok' }], null, usageOf(7, 2, 94)),
    answerOf([{ text: '', thoughtSignature: 'c2ln' }], 'STOP', usageOf(7, 2, 94)),
  )
  t.strictSame(heard([stream]), {
    events: [
      { type: 'start', id, usage: usage(7, 0, 40) },
      { type: 'thinking', text: 'Hm.' },
      { type: 'usage', usage: usage(7, 0, 40) },
      { type: 'text', text: 'fixture ' },
      { type: 'usage', usage: usage(7, 1, 94) },
      { type: 'text', text: 'ok' },
      { type: 'usage', usage: usage(7, 2, 94) },
      { type: 'stop', reason: 'end', stopSequence: null },
      { type: 'usage', usage: usage(7, 2, 94) },
    ],
    fault: null,
    isFinished: true,
  })
})

t.test('calls in several events are counted on; any of them makes the end one of tool calls', async (t) => {
  const [first = {}, second = {}] = parallelCalls
  const { events } = heard([streamOf(answerOf([first]), answerOf([second]), answerOf([{ text: '' }], 'STOP'))])
  t.strictSame(events.slice(1), [
    { type: 'tool_call', id: `call_${id}_0`, name: 'get_weather', signature: 'c2lnbmVk' },
    { type: 'arguments', text: '{"city":"Paris"}' },
    { type: 'tool_call', id: `call_${id}_1`, name: 'get_weather', signature: null },
    { type: 'arguments', text: '{"city":"Tokyo"}' },
    { type: 'stop', reason: 'tool_calls', stopSequence: null },
  ])
})

const half = groundedText.indexOf('The')
const groundedStream = streamOf(
  answerOf([{ text: groundedText.slice(0, half) }], null, usageOf(17, 20)),
  answerOf([{ text: groundedText.slice(half) }], 'STOP', usageOf(17, 37), { groundingMetadata }),
)

t.test('citations come before the end, their places in the whole text', async (t) => {
  const { events } = heard([groundedStream])
  const ranges = events.flatMap((event) => (event.type === 'citation' ? [event.citation.range] : []))
  t.strictSame(ranges, [
    { start: 0, end: 24 },
    { start: 25, end: 45 },
    { start: 25, end: 45 },
  ])
  t.strictSame(
    events.slice(-4).map(({ type }) => type),
    ['citation', 'stop', 'built_in_calls', 'usage'],
  )
})

t.test('searches are counted once, however often they are told', async (t) => {
  const last = (model: Model, ...events: readonly JsonObject[]) => {
    const told = heard([streamOf(...events)], model).events.at(-1)
    return told?.type === 'usage' ? told.usage.toolCalls : told
  }
  const first = answerOf([{ text: 'a' }], null, usageOf(5, 1), { groundingMetadata: { webSearchQueries: ['x'] } })
  const second = answerOf([{ text: 'b' }], 'STOP', usageOf(5, 2), {
    groundingMetadata: { webSearchQueries: ['x', 'y', ' '] },
  })
  t.strictSame(last('gemini-3.7-flash', first, second), { grounding_query: 2 })
  t.strictSame(last('gemini-2.5-flash', first, second), { grounded_prompt: 1 })
  const late = { candidates: [{ groundingMetadata: { webSearchQueries: ['z'] } }] }
  t.strictSame(last('gemini-3.7-flash', first, second, late), { grounding_query: 3 }, 'told behind the end')
})

t.test('a blocked prompt', async (t) => {
  t.strictSame(heard([streamOf(blocked)]), {
    events: [
      { type: 'start', id, usage: usage(9, 0) },
      { type: 'stop', reason: 'filtered', stopSequence: null },
      { type: 'usage', usage: usage(9, 0) },
    ],
    fault: null,
    isFinished: true,
  })
})

t.test('an answer that is blocked midway', async (t) => {
  const { events, isFinished } = heard([
    streamOf(answerOf([{ text: 'a' }]), { promptFeedback: { blockReason: 'SAFETY' } }),
  ])
  t.match(events.at(-1), { type: 'stop', reason: 'filtered' })
  t.ok(isFinished)
})

t.test('a stream without a finish reason has not ended', async (t) => {
  t.match(heard([streamOf(answerOf([{ text: 'Hel' }], null, usageOf(5, 1)))]), { fault: null, isFinished: false })
  t.match(heard(['']), { events: [], isFinished: false })
  t.equal(new GenerateContentReader(targetOf()).isDone, false)
})

t.test('comments, and events that tell nothing', async (t) => {
  const { events } = heard([`: wait\n\n${streamOf(answerOf([{ text: 'a' }]), { responseId: id })}`])
  t.strictSame(
    events.map(({ type }) => type),
    ['start', 'text'],
  )
})

t.test('usage that tells no figures does not replace the one that does', async (t) => {
  const { events } = heard([
    streamOf(
      answerOf([{ text: 'a' }], null, usageOf(5, 1)),
      answerOf([{ text: 'b' }], 'STOP', { trafficType: 'ON_DEMAND' }),
    ),
  ])
  t.strictSame(
    events.filter(({ type }) => type === 'usage'),
    [{ type: 'usage', usage: usage(5, 1) }],
  )
})

t.test('a stream breaks', async (t) => {
  const hello = answerOf([{ text: 'Hel' }])
  const end = answerOf([{ text: 'lo' }], 'STOP')
  const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
  const table: readonly [string, string, string][] = [
    ['an error at once', streamOf(error), 'error_in_stream'],
    ['an error inside', streamOf(hello, error), 'error_in_stream'],
    ['garbage', 'data: {nonsense\n\n', 'not_json'],
    ['a list', 'data: []\n\n', 'not_json'],
    ['another dialect', streamOf({ choices: [] }), 'not_an_answer'],
    ['a call without a name', streamOf(answerOf([{ functionCall: {} }])), 'nameless_tool_call'],
    ['text behind the end', streamOf(hello, end, hello), 'content_after_end'],
  ]
  for (const [name, stream, fault] of table) t.equal(heard([stream]).fault, fault, name)
})

t.test('any cut gives the same events', async () => {
  const calls = streamOf(
    answerOf([{ text: 'naïve 🙂', thought: true }], null, usageOf(7, 0, 4)),
    answerOf(parallelCalls, 'STOP', usageOf(7, 9, 4)),
  )
  const streams = [groundedStream, calls, groundedStream.replaceAll('\r\n', '\n')].map((stream) => Buffer.from(stream))
  fc.assert(
    fc.property(fc.constantFrom(...streams), fc.array(fc.nat(), { maxLength: 20 }), (bytes, places) => {
      const at = [0, ...places.map((place) => place % bytes.length), bytes.length].sort((a, b) => a - b)
      const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      return JSON.stringify(heard(pieces)) === JSON.stringify(heard([bytes]))
    }),
    { numRuns: 1_000 },
  )
})
