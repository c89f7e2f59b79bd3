import fc from 'fast-check'
import t from 'tap'
import { asArray, asObject, type JsonObject } from '../../../src/encoding/json.ts'
import { GenerateContentRelay } from '../../../src/providers/google/relay.ts'
import { googleGenerateContent } from '../../../src/providers/google/relayed.ts'
import { asSent } from '../../support/as-sent.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { answerBytes } from '../answer-bytes.ts'
import { answerOf, blocked, parallelCalls, streamOf, usageOf } from './answers.ts'
import { targetOf } from './target.ts'

const mark = (signature: string): string => Buffer.from(`gw1:google%2F%2Fgemini:${signature}`).toString('base64')

const events: readonly JsonObject[] = [
  answerOf([{ text: 'Hm, é.', thought: true }], null, usageOf(7, 0, 40)),
  answerOf([{ text: 'fixture ' }], null, usageOf(7, 1, 94)),
  answerOf(parallelCalls, null, usageOf(7, 9, 94)),
  answerOf([{ text: '', thoughtSignature: 'c2ln' }], 'STOP', usageOf(7, 9, 94)),
]
const stream = Buffer.from(`: comment\r\n\r\n${streamOf(...events)}`)

const relayed = (pieces: readonly Uint8Array[]) => {
  const relay = new GenerateContentRelay(targetOf())
  const kept = [...pieces.map((piece) => relay.push(piece)), relay.end()].flatMap((bytes) => bytes ?? [])
  const before = Buffer.concat(kept).toString()
  return { relay, before, all: relay.state === 'done' ? before + Buffer.from(relay.closing(null)).toString() : before }
}

const jsonIn = (text: string): readonly JsonObject[] =>
  text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)))

const partsIn = (text: string): readonly JsonObject[] =>
  jsonIn(text).flatMap(({ candidates }) => {
    const [candidate] = asArray(candidates)
    return asArray(asObject(asObject(candidate)['content'])['parts']).map(asObject)
  })

t.test('a stream is relayed as it is, but for its signatures, wherever it is cut', async (t) => {
  const whole = relayed([stream]).all
  t.same(partsIn(whole), [
    { text: 'Hm, é.', thought: true },
    { text: 'fixture ' },
    { ...parallelCalls[0], thoughtSignature: mark('c2lnbmVk') },
    parallelCalls[1],
    { text: '', thoughtSignature: mark('c2ln') },
  ])
  t.match(whole, streamOf(...events.slice(0, 2)))
  for (let at = 1; at < stream.length; at += 1) {
    const { all, relay } = relayed([stream.subarray(0, at), stream.subarray(at)])
    if (all !== whole || relay.reportedUsage?.outputTotal !== 103) t.equal(all, whole, `cut at ${at}`)
  }
  t.ok(relayed([...stream].map((byte) => Uint8Array.of(byte))).relay.isFinished)
})

t.test('the event with the reason of the end waits for the bill, and has the counted usage', async (t) => {
  const { relay, before } = relayed([stream])
  t.notMatch(before, /finishReason/)
  t.match(relay, { state: 'done', isFinished: true, contentIsOver: true, answering: true })
  t.match(Buffer.from(relay.closing(null)).toString(), /"finishReason":"STOP"/)
  const usage = relay.reportedUsage!
  const counted = jsonIn(Buffer.from(relay.closing({ ...usage, promptTotal: 8, inputUncached: 8 })).toString())
  t.match(counted, [{ usageMetadata: { promptTokenCount: 8, thoughtsTokenCount: 94, totalTokenCount: 111 } }])
})

t.test('what is no end, no answer and no JSON', async (t) => {
  const error = 'data: {"error":{"code":503,"status":"UNAVAILABLE"}}\r\n\r\n'
  const rows: readonly (readonly [string, string, boolean])[] = [
    [streamOf(...events.slice(0, 2)), 'ended_early', true],
    [streamOf(events[1]!) + error, 'error_in_stream', true],
    [error, 'error_in_stream', false],
    ['data: {"a":1}\r\n\r\n', 'not_an_answer', false],
    ['data: nonsense\r\n\r\n', 'not_json', false],
    ['', 'empty_answer', false],
  ]
  for (const [text, fault, answering] of rows)
    t.match(relayed([Buffer.from(text)]).relay, { state: 'broken', fault, answering }, fault)
  t.match(relayed([Buffer.from(streamOf(blocked))]).relay, { state: 'done', isFinished: true })
})

t.test('any stream of any texts is relayed byte by byte, in any pieces', async () => {
  const texts = fc.array(fc.string({ unit: 'binary', minLength: 1 }), { minLength: 1, maxLength: 5 })
  const property = fc.property(texts, fc.array(fc.nat(400), { maxLength: 5 }), (all, cuts) => {
    const plain = all.map((text) => answerOf([{ text }], null, usageOf(3, 2)))
    const bytes = Buffer.from(streamOf(...plain, answerOf([{ text: '' }], 'STOP', usageOf(3, 2))))
    const places = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length]
    const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
    return relayed(pieces).all === bytes.toString()
  })
  fc.assert(property, propertyRuns(200))
})

const built = (body: JsonObject, outputCap: number | null = null, model?: 'gemini-2.5-flash'): JsonObject => {
  const request = { requestId: 'r', body, stream: false, outputCap }
  return asSent(googleGenerateContent.buildRequest(targetOf(model), request).body)
}

t.test('signatures of other providers are dropped, and what only they signed', async (t) => {
  const other = Buffer.from('gw1:anthropic:eyJ9').toString('base64')
  const parts = [
    { text: 'I think', thought: true, thoughtSignature: other },
    { text: '', thoughtSignature: other },
    { text: 'so', thoughtSignature: other },
    { functionCall: { name: 'f', args: {} }, thoughtSignature: other },
    { functionCall: { name: 'g', args: {} } },
  ]
  const contents = [{ role: 'model', parts }]
  t.same(built({ contents })['contents'], [
    {
      role: 'model',
      parts: [
        { text: 'so' },
        { functionCall: { name: 'f', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
        { functionCall: { name: 'g', args: {} } },
      ],
    },
  ])
  const own = [{ role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature: mark('c2ln') }] }]
  t.match(built({ contents: own })['contents'], [{ parts: [{ thoughtSignature: 'c2ln' }] }])
  const unmarked = [{ role: 'model', parts: [{ text: 'a', thoughtSignature: 'anything' }] }]
  t.same(built({ contents: unmarked })['contents'], unmarked)
})

t.test('the wallet limits the output, and nothing that has no price is asked for', async (t) => {
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
  t.same(built({ contents }, 50)['generationConfig'], { maxOutputTokens: 50 })
  t.same(built({ contents, generationConfig: { maxOutputTokens: 20, topK: 4 } }, 50)['generationConfig'], {
    maxOutputTokens: 20,
    topK: 4,
  })
  t.same(built({ contents, model: 'x', models: ['y'], serviceTier: 'priority', stream: true }), { contents })
  const search = { contents, tools: [{ googleSearch: {} }] }
  t.same(built(search), search)
  for (const reading of [{ urlContext: {} }, { codeExecution: {} }]) {
    t.same(built({ contents, tools: [reading] }), { contents, tools: [reading] })
    t.throws(() => built({ contents, tools: [{ googleSearch: {} }, reading] }), {
      code: 'unsupported_parameter',
      param: 'tools',
    })
  }
})

t.test('a whole answer keeps its bytes, unless it has signatures or no usage', async (t) => {
  const request = { requestId: 'r', body: {}, stream: false, outputCap: null }
  const read = (json: JsonObject) =>
    googleGenerateContent.readAnswer(targetOf(), request, Buffer.from(JSON.stringify(json)))
  t.notOk('body' in read(answerOf([{ text: 'Hi' }], 'STOP', usageOf(3, 2))))
  const signed = read(answerOf(parallelCalls, 'STOP', usageOf(3, 2)))
  t.match(signed, { reportedUsage: { promptTotal: 3, outputTotal: 2 } })
  t.match('body' in signed && answerBytes(signed.body).toString(), mark('c2lnbmVk'))
  const silent = read(answerOf([{ text: 'Hi' }], 'STOP'))
  t.match(silent, { reportedUsage: null })
})
