import fc from 'fast-check'
import t from 'tap'
import { asArray, asObject, isObject, type JsonObject, parseJsonBytes } from '../../src/encoding/json.ts'
import { formatVector, readEmbeddingInput } from '../../src/providers/canonical/embeddings.ts'
import type {
  Target,
  UpstreamAnswer,
  UpstreamCallRequest,
  UpstreamDialect,
} from '../../src/providers/dialect/dialect.ts'
import { dialects } from '../../src/providers/dialects.ts'
import { asSent } from '../support/as-sent.ts'
import { answerBytes } from './answer-bytes.ts'
import { targetOf } from './openai/target.ts'

const openai = dialects.openai.embeddings
const google = dialects.google.embeddings
const target = targetOf('openai', 'text-embedding-3-small')
const gemini: Target = { ...targetOf('gemini', 'gemini-embedding-001') }

const asking = (body: JsonObject): UpstreamCallRequest => ({
  requestId: 'r-1',
  body: { model: 'openai/text-embedding-3-small', ...body },
  stream: false,
  outputCap: null,
})

const read = (dialect: UpstreamDialect, body: JsonObject, answer: unknown): UpstreamAnswer => {
  const bytes = Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer))
  const read = dialect.readAnswer(dialect === google ? gemini : target, asking(body), bytes)
  if ('fault' in read) throw new Error(read.fault)
  return read
}

const vector = [0.5, -0.25, 1]
const base64 = Buffer.from(Float32Array.from(vector).buffer).toString('base64')
const answered = (embedding: unknown, usage: unknown = { prompt_tokens: 3, total_tokens: 3 }) => ({
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding }],
  model: 'text-embedding-3-small',
  usage,
})
const bodyOf = ({ body }: UpstreamAnswer): unknown =>
  body === undefined ? undefined : parseJsonBytes(answerBytes(body))

t.test('what is embedded', async (t) => {
  const rows: readonly (readonly [input: unknown, count: number, texts: readonly string[] | null, tokenIds: number])[] =
    [
      ['a', 1, ['a'], 0],
      [['a', 'b'], 2, ['a', 'b'], 0],
      [[1, 2, 3], 1, null, 3],
      [[[1], [2, 3]], 2, null, 3],
    ]
  for (const [input, count, texts, tokenIds] of rows)
    t.same(readEmbeddingInput({ input }), { count, texts, tokenIds }, JSON.stringify(input))
})

t.test('a vector keeps its 32-bit floats in both formats', async () => {
  fc.assert(
    fc.property(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { maxLength: 20 }), (values) => {
      const encoded = formatVector(values, true)
      const decoded = formatVector(encoded, false)
      return values.every((value, index) => Object.is(decoded[index], value)) && formatVector(encoded, true) === encoded
    }),
  )
})

t.test("OpenAI's request: the caller's own, with the upstream's name", async (t) => {
  const body = { input: ['a', 'b'], dimensions: 8, encoding_format: 'base64', user: 'u', truncate: 'END' }
  const request = openai.buildRequest(target, asking(body))
  t.equal(request.url, 'https://api.alpha.example/v1/embeddings')
  t.same(asSent(request.body), { ...body, model: 'text-embedding-3-small' })
  const strict = { ...target, provider: { ...target.provider, capabilities: { unknown_members: 'refused' as const } } }
  t.notHas(asSent(openai.buildRequest(strict, asking(body)).body), { user: 'u' })
  t.throws(() => openai.buildRequest(target, asking({ ...body, plugins: [{ id: 'web' }] })), {
    code: 'unsupported_parameter',
  })
})

t.test('an answer in the format that was asked for is relayed, and its usage read', async (t) => {
  for (const [format, embedding] of [
    ['float', vector],
    ['base64', base64],
    [undefined, vector],
  ] as const) {
    const answer = read(openai, { input: 'a', encoding_format: format }, answered(embedding))
    t.equal(answer.body, undefined)
    t.match(answer.reportedUsage, { promptTotal: 3, inputUncached: 3, outputTotal: 0 })
  }
})

t.test('another format is put into the one that was asked for', async (t) => {
  const floats = read(openai, { input: 'a' }, answered(base64))
  t.same(bodyOf(floats), answered(vector))
  const encoded = read(openai, { input: 'a', encoding_format: 'base64' }, answered(vector))
  t.same(bodyOf(encoded), answered(base64))
})

t.test('usage in other words', async (t) => {
  const promptOf = (usage: unknown): number | undefined =>
    read(openai, { input: 'a' }, answered(vector, usage)).reportedUsage?.promptTotal
  t.equal(promptOf({ total_tokens: 7 }), 7)
  t.equal(promptOf({ prompt_tokens: 5, total_tokens: 5, completion_tokens: 0, prompt_tokens_details: null }), 5)
  for (const none of [null, {}, { prompt_tokens: 0, total_tokens: 0 }, { prompt_tokens: 'many' }])
    t.equal(promptOf(none), undefined, JSON.stringify(none))
  t.same(read(openai, { input: 'a' }, answered(vector, { prompt_tokens: -4 })).reportedUsage?.negative, {
    prompt_tokens: -4,
  })
  const { usage: _usage, ...rest } = answered(vector)
  const first = { usage: { prompt_tokens: 4, details: [1] }, ...rest }
  t.equal(read(openai, { input: 'a' }, first).reportedUsage?.promptTotal, 4)
})

t.test('without usage it is counted, and written into the answer', async (t) => {
  const request = asking({ input: ['one two', 'three'] })
  const answer = read(openai, request.body, answered(vector, null))
  const counted = await openai.countUsage(target, request, answer.delivered)
  t.ok(counted.promptTotal >= 3)
  t.same(parseJsonBytes(answerBytes(openai.completeAnswer(answer, counted, target, request))), {
    ...answered(vector),
    usage: { prompt_tokens: counted.promptTotal, total_tokens: counted.promptTotal },
  })
  const ids = asking({ input: [[1, 2], [3]] })
  t.equal((await openai.countUsage(target, ids, answer.delivered)).promptTotal, 3)
})

t.test('what is no answer', async (t) => {
  const faultOf = (text: string): unknown => {
    const answer = openai.readAnswer(target, asking({ input: 'a' }), Buffer.from(text))
    return 'fault' in answer ? answer.fault : null
  }
  t.equal(faultOf('<html>'), 'not_json')
  t.equal(faultOf('[1]'), 'not_json')
  t.equal(faultOf('{"error":{"message":"[no]"}}'), 'error_in_answer')
  t.equal(faultOf('{"data":[],"usage":{"prompt_tokens":1}}'), 'no_embeddings')
  t.equal(faultOf('{"data":[{"embedding":[1}],"usage":{"prompt_tokens":1'), 'not_json')
})

t.test("Google's request: a request for each text", async (t) => {
  const request = google.buildRequest(gemini, asking({ input: ['a', 'b'], dimensions: 768, user: 'u' }))
  t.equal(request.url, 'https://api.alpha.example/v1/models/gemini-embedding-001:batchEmbedContents')
  t.match(request.headers, { 'x-goog-api-key': 'sk-provider-key-123456' })
  const one = { model: 'models/gemini-embedding-001', outputDimensionality: 768 }
  t.same(asSent(request.body), {
    requests: [
      { ...one, content: { parts: [{ text: 'a' }] } },
      { ...one, content: { parts: [{ text: 'b' }] } },
    ],
  })
  t.throws(() => google.buildRequest(gemini, asking({ input: [1, 2] })), {
    code: 'unsupported_parameter',
    message: /token ids/,
  })
  const many = Array.from({ length: 101 }, () => 'a')
  t.throws(() => google.buildRequest(gemini, asking({ input: many })), {
    code: 'invalid_value',
    message: /at most 100 texts in one request, got 101/,
  })
})

t.test("Google's answer in OpenAI's format", async (t) => {
  const answer = { embeddings: [{ values: vector }], usageMetadata: { promptTokenCount: 3 } }
  const floats = read(google, { input: 'a' }, answer)
  t.same(bodyOf(floats), { ...answered(vector), model: 'alpha/gemini-embedding-001' })
  t.match(floats.reportedUsage, { promptTotal: 3, outputTotal: 0 })
  const encoded = bodyOf(read(google, { input: ['a'], encoding_format: 'base64' }, answer))
  t.equal(asObject(asArray(isObject(encoded) ? encoded['data'] : [])[0])['embedding'], base64)
  t.equal(read(google, { input: 'a' }, { embeddings: [{ values: vector }] }).reportedUsage, null)
  t.throws(() => read(google, { input: ['a', 'b'] }, answer), /no_embeddings/)
})

t.test('Anthropic has none', async (t) => {
  t.throws(() => dialects.anthropic.embeddings.buildRequest(target, asking({ input: 'a' })), {
    code: 'unsupported_parameter',
    message: /makes no embeddings/,
  })
})
