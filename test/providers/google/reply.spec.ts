import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { Reply } from '../../../src/providers/canonical/reply.ts'
import { readGenerateContentReply } from '../../../src/providers/google/dialect.ts'
import { answerOf, blocked, groundedText, groundingMetadata, parallelCalls, usageOf } from './answers.ts'
import { targetOf } from './target.ts'

const read = (json: JsonObject): Reply => {
  const reply = readGenerateContentReply(targetOf(), json)
  if ('fault' in reply) throw new Error(reply.fault)
  return reply
}

t.test('text', async (t) => {
  t.strictSame(
    read(answerOf([{ text: 'Hel' }, { text: 'lo', thoughtSignature: 'c2ln' }, { text: '' }], 'STOP', usageOf(7, 2))),
    {
      id: 'WQuqavG5KbfUjMcPuP_n6QI',
      parts: [{ type: 'text', text: 'Hello', citations: [] }],
      stop: 'end',
      stopSequence: null,
      usage: {
        inputUncached: 7,
        cacheRead: 0,
        cacheWrite5m: 0,
        cacheWrite1h: 0,
        inputAudio: 0,
        inputImage: 0,
        outputTotal: 2,
        outputReasoning: 0,
        outputAudio: 0,
        outputImage: 0,
        toolCalls: {},
        promptTotal: 7,
      },
      toolCalls: {},
    },
  )
})

t.test('thinking is apart from text, and carries no signature that another maker would refuse', async (t) => {
  const parts = [
    { text: 'Let me ', thought: true },
    { text: 'see.', thought: true, thoughtSignature: 'c2ln' },
    { text: 'Four.' },
  ]
  t.strictSame(read(answerOf(parts, 'STOP')).parts, [
    { type: 'thinking', text: 'Let me see.', signature: null },
    { type: 'text', text: 'Four.', citations: [] },
  ])
})

t.test('parallel calls have ids of their own, the same at every reading', async (t) => {
  const reply = read(answerOf([{ text: 'Looking.' }, ...parallelCalls], 'STOP'))
  t.equal(reply.stop, 'tool_calls')
  t.strictSame(reply.parts.slice(1), [
    {
      type: 'tool_call',
      id: 'call_WQuqavG5KbfUjMcPuP_n6QI_0',
      name: 'get_weather',
      arguments: '{"city":"Paris"}',
      signature: 'c2lnbmVk',
    },
    {
      type: 'tool_call',
      id: 'call_WQuqavG5KbfUjMcPuP_n6QI_1',
      name: 'get_weather',
      arguments: '{"city":"Tokyo"}',
      signature: null,
    },
  ])
})

t.test('ids that Google gives are kept; arguments may be absent', async (t) => {
  const parts = [{ functionCall: { id: 'lpndqlku', name: 'read_theme' } }]
  t.match(read(answerOf(parts, 'STOP')).parts, [{ id: 'lpndqlku', arguments: '{}' }])
  const { responseId: _responseId, ...anonymous } = answerOf(parallelCalls, 'STOP')
  t.match(read(anonymous).parts, [{ id: 'call_1760000000_0' }, { id: 'call_1760000000_1' }])
})

t.test('why an answer ended', async (t) => {
  const table: readonly [string, Reply['stop'], Reply['stop']][] = [
    ['STOP', 'end', 'tool_calls'],
    ['MAX_TOKENS', 'length', 'length'],
    ['SAFETY', 'filtered', 'filtered'],
    ['RECITATION', 'filtered', 'filtered'],
    ['BLOCKLIST', 'filtered', 'filtered'],
    ['PROHIBITED_CONTENT', 'filtered', 'filtered'],
    ['SPII', 'filtered', 'filtered'],
    ['MALFORMED_FUNCTION_CALL', 'end', 'end'],
    ['LANGUAGE', 'end', 'end'],
    ['OTHER', 'end', 'end'],
    ['A_REASON_OF_TOMORROW', 'end', 'end'],
  ]
  for (const [reason, plain, calling] of table) {
    t.equal(read(answerOf([{ text: 'x' }], reason)).stop, plain, reason)
    t.equal(read(answerOf(parallelCalls, reason)).stop, calling, `${reason} with calls`)
  }
})

t.test('an answer without content', async (t) => {
  const reply = read({ candidates: [{ finishReason: 'SAFETY', index: 0 }] })
  t.match(reply, { id: '', parts: [], stop: 'filtered', usage: null })
  t.match(read(blocked), { parts: [], stop: 'filtered', usage: { promptTotal: 9, outputTotal: 0 } })
})

t.test('parts that have no form of ours are left out', async (t) => {
  const parts = [{ inlineData: { mimeType: 'image/png', data: 'aaaa' } }, { executableCode: {} }, { text: 'x' }]
  t.strictSame(read(answerOf(parts, 'STOP')).parts, [{ type: 'text', text: 'x', citations: [] }])
})

t.test('citations stand where they support the text, in UTF-16 units', async (t) => {
  const [part] = read(answerOf([{ text: groundedText }], 'STOP', null, { groundingMetadata })).parts
  const first = { url: 'https://vertexaisearch.example/grounding-api-redirect/a', title: 'aljazeera.com' }
  const second = { url: 'https://vertexaisearch.example/grounding-api-redirect/b', title: null }
  t.strictSame(part, {
    type: 'text',
    text: groundedText,
    citations: [
      { ...first, citedText: null, range: { start: 0, end: 24 } },
      { ...first, citedText: null, range: { start: 25, end: 45 } },
      { ...second, citedText: null, range: { start: 25, end: 45 } },
    ],
  })
})

t.test('where a citation stands', async (t) => {
  const web = { web: { uri: 'https://a.example', title: 'a' } }
  const rangesOf = (parts: readonly JsonObject[], ...segments: readonly JsonObject[]) => {
    const metadata = {
      groundingChunks: [web],
      groundingSupports: segments.map((segment) => ({ segment, groundingChunkIndices: [0] })),
    }
    return read(answerOf(parts, 'STOP', null, { groundingMetadata: metadata })).parts.flatMap((part) =>
      part.type === 'text' ? part.citations.map(({ range }) => range) : [],
    )
  }
  const said = [{ text: 'Yes, yes. ' }, { text: 'Sure.' }]
  t.strictSame(rangesOf(said, { startIndex: 10, text: 'Sure.' }), [{ start: 10, end: 15 }], 'across parts')
  t.strictSame(rangesOf(said, { partIndex: 1, text: 'Sure.' }), [{ start: 10, end: 15 }], 'its words decide')
  const twice = [{ text: 'é yes. yes.' }]
  t.strictSame(rangesOf(twice, { startIndex: 8, endIndex: 12, text: 'yes.' }), [{ start: 7, end: 11 }], 'by bytes')
  t.strictSame(rangesOf(said, { startIndex: 2, text: 'es' }), [null], 'words that stand twice tell no place')
  t.strictSame(rangesOf(said, { startIndex: 0, text: 'No.' }, {}), [null, null], 'no place, still a source')
  const thought = { text: 'Hm.', thought: true }
  t.strictSame(
    rangesOf([{ text: 'A b.' }, thought, { text: 'C d.' }], { startIndex: 4, text: 'C d.' }, { text: 'A b.' }),
    [{ start: 0, end: 4 }, null],
    'a part is counted from its own beginning',
  )
})

t.test('sources without supports, and what is no source', async (t) => {
  const metadata = {
    groundingChunks: [{ web: { uri: 'https://a.example', title: 'a' } }, { retrievedContext: {} }, {}],
    webSearchQueries: ['a'],
  }
  t.strictSame(read(answerOf([{ text: 'A.' }], 'STOP', null, { groundingMetadata: metadata })).parts, [
    {
      type: 'text',
      text: 'A.',
      citations: [{ url: 'https://a.example', title: 'a', citedText: null, range: null }],
    },
  ])
  const astray = {
    groundingChunks: metadata.groundingChunks,
    groundingSupports: [{ segment: { text: 'A.' }, groundingChunkIndices: [1, 9, null] }],
  }
  t.match(read(answerOf([{ text: 'A.' }], 'STOP', null, { groundingMetadata: astray })).parts, [{ citations: [] }])
})

t.test('what is no answer', async (t) => {
  const table: readonly [JsonObject, string][] = [
    [{ error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }, 'error_in_answer'],
    [{}, 'not_an_answer'],
    [{ hello: 1 }, 'not_an_answer'],
    [{ candidates: [] }, 'no_candidates'],
    [{ usageMetadata: usageOf(5, 0) }, 'no_candidates'],
    [{ promptFeedback: {} }, 'no_candidates'],
    [answerOf([{ text: 'Hel' }]), 'no_finish_reason'],
    [answerOf([{ functionCall: { args: {} } }], 'STOP'), 'nameless_tool_call'],
  ]
  for (const [json, fault] of table) t.strictSame(readGenerateContentReply(targetOf(), json), { fault })
})

t.test('a search is told of without any usage', async (t) => {
  const grounded = { groundingMetadata: { webSearchQueries: ['x', 'y'] } }
  const { usage, toolCalls } = read(answerOf([{ text: 'So' }], 'STOP', null, grounded))
  t.strictSame([usage, toolCalls], [null, { grounding_query: 2 }])
})
