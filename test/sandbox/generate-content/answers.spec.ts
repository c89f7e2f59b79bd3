import { Buffer } from 'node:buffer'
import t from 'tap'
import { askGoogle, eventsIn, jsonOf, sandboxFor, until } from '../ask.ts'

type Body = { readonly [key: string]: unknown }

const question = (more: Body = {}): Body => ({ contents: [{ role: 'user', parts: [{ text: 'Which way?' }] }], ...more })

const look = { name: 'look', parameters: { type: 'OBJECT', properties: { at: { type: 'STRING' } }, required: ['at'] } }
const functions = { tools: [{ functionDeclarations: [look] }] }
const search = { tools: [{ googleSearch: {} }] }

const partsIn = (chunks: readonly ReturnType<typeof eventsIn>[number][]): readonly Body[] =>
  chunks.flatMap((chunk) => chunk.candidates?.[0]?.content.parts ?? [])

const textIn = (chunks: readonly ReturnType<typeof eventsIn>[number][], thought = false): string =>
  partsIn(chunks)
    .map((part) => (Boolean(part['thought']) === thought ? (part['text'] ?? '') : ''))
    .join('')

t.test('text, whole and streamed', async (t) => {
  const sandbox = await sandboxFor(t)
  const whole = await jsonOf(askGoogle(sandbox, 'gemini-2.5-flash', question()))
  t.match(whole, {
    candidates: [
      { content: { role: 'model', parts: [{ text: 'You said: Which way?' }] }, finishReason: 'STOP', index: 0 },
    ],
    usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 4, totalTokenCount: 6 },
    modelVersion: 'gemini-2.5-flash',
    responseId: String,
  })
  const response = await askGoogle(sandbox, 'gemini-2.5-flash', question(), true)
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  const chunks = eventsIn(await response.text())
  t.equal(textIn(chunks), 'You said: Which way?')
  t.strictSame(
    chunks.map((chunk) => chunk.usageMetadata.candidatesTokenCount),
    [1, 2, 3, 4],
  )
  t.strictSame(
    chunks.map((chunk) => chunk.candidates[0].finishReason),
    [undefined, undefined, undefined, 'STOP'],
  )
  t.match(sandbox.calls()[0], {
    path: '/v1/models/gemini-2.5-flash:generateContent',
    headers: { 'x-goog-api-key': '***' },
    upstreamModel: 'gemini-2.5-flash',
    usage: { totalTokenCount: 6 },
    tokens: { prompt: 2, output: 4 },
  })
  t.match(sandbox.totals(), { completed: 2, tokens: { prompt: 4, output: 8 } })
})

t.test('thoughts are shown where that is asked for, and counted apart', async (t) => {
  const sandbox = await sandboxFor(t)
  const generationConfig = { thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' } }
  const chunks = eventsIn(
    await (await askGoogle(sandbox, 'gemini-3-flash', question({ generationConfig }), true)).text(),
  )
  t.match(textIn(chunks, true), /^You said: The sandbox thinks/)
  t.equal(textIn(chunks), 'You said: Which way?')
  t.match(chunks.at(-1).usageMetadata, { candidatesTokenCount: 4, thoughtsTokenCount: 16, totalTokenCount: 22 })
  t.match(sandbox.calls()[0]?.tokens, { output: 20, reasoning: 16 })
  const short = { maxOutputTokens: 10, thinkingConfig: { thinkingBudget: 1_024 } }
  const cut = await jsonOf(askGoogle(sandbox, 'gemini-2.5-flash', question({ generationConfig: short })))
  t.strictSame(cut.candidates, [{ content: { role: 'model' }, finishReason: 'MAX_TOKENS', index: 0 }])
})

t.test('functions are called, signed, and answered', async (t) => {
  const sandbox = await sandboxFor(t)
  const answer = await jsonOf(askGoogle(sandbox, 'gemini-3-flash;tool_calls=2', question(functions)))
  const [first, second] = answer.candidates[0].content.parts
  t.match(first, { functionCall: { name: 'look', args: { at: 'sandbox' } }, thoughtSignature: /^.{44}$/ })
  t.notOk('thoughtSignature' in second)
  const response = { functionResponse: { name: 'look', response: { result: 'north' } } }
  const turns = (parts: readonly Body[]): Body => ({
    ...functions,
    contents: [
      { role: 'user', parts: [{ text: 'Which way?' }] },
      { role: 'model', parts },
      { role: 'user', parts: [response, response] },
    ],
  })
  const after = await jsonOf(askGoogle(sandbox, 'gemini-3-flash', turns([first, second])))
  t.equal(textIn([after]), 'You said: Which way?')
  const unsigned = { functionCall: first.functionCall }
  const refused = await askGoogle(sandbox, 'gemini-3-flash', turns([unsigned, second]))
  t.match(await refused.json(), { error: { message: /missing a thought_signature/ } })
  t.equal((await askGoogle(sandbox, 'gemini-2.5-flash', turns([unsigned, second]))).status, 200)
  const forged = await askGoogle(sandbox, 'gemini-2.5-flash', turns([{ ...first, thoughtSignature: 'AAAA' }, second]))
  t.match(await forged.json(), { error: { message: 'Corrupted thought signature.' } })
  const none = { ...question(functions), toolConfig: { functionCallingConfig: { mode: 'NONE' } } }
  t.equal(textIn([await jsonOf(askGoogle(sandbox, 'gemini-3-flash', none))]), 'You said: Which way?')
})

t.test('a search is grounded, in bytes of UTF-8', async (t) => {
  const sandbox = await sandboxFor(t)
  const chunks = eventsIn(
    await (await askGoogle(sandbox, 'gemini-3-flash;searches=3;unicode', question(search), true)).text(),
  )
  const { groundingMetadata } = chunks.at(-1).candidates[0]
  t.equal(groundingMetadata.webSearchQueries.length, 3)
  t.match(groundingMetadata.groundingChunks[0], { web: { uri: 'https://example.com/1', title: 'Source 1' } })
  const { segment } = groundingMetadata.groundingSupports[0]
  t.equal(segment.endIndex, Buffer.byteLength(textIn(chunks)))
  t.notOk('startIndex' in segment)
  const without = await jsonOf(askGoogle(sandbox, 'gemini-3-flash;searches=0', question(search)))
  t.notOk('groundingMetadata' in without.candidates[0])
})

t.test('figures of usage', async (t) => {
  const sandbox = await sandboxFor(t)
  const model =
    'gemini-2.5-pro;prompt_tokens=100;cached_tokens=40;tool_prompt_tokens=30;audio_in_tokens=20;completion_tokens=50;reasoning_tokens=10'
  const { usageMetadata } = await jsonOf(askGoogle(sandbox, model, question()))
  t.strictSame(usageMetadata, {
    promptTokenCount: 100,
    candidatesTokenCount: 50,
    totalTokenCount: 190,
    cachedContentTokenCount: 40,
    toolUsePromptTokenCount: 30,
    thoughtsTokenCount: 10,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 80 },
      { modality: 'AUDIO', tokenCount: 20 },
    ],
  })
  t.match(sandbox.calls()[0]?.tokens, { prompt: 130, cached: 40, audioIn: 20, output: 60, reasoning: 10 })
  t.notOk('usageMetadata' in (await jsonOf(askGoogle(sandbox, 'gemini-2.5-pro;no_usage', question()))))
})

t.test('what is blocked, filtered or a JSON answer', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const isStream of [true, false]) {
    const response = await askGoogle(sandbox, 'g;block_reason=SAFETY', question(), isStream)
    const [blocked] = isStream ? eventsIn(await response.text()) : [await response.json()]
    t.match(blocked, { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { totalTokenCount: 2 } })
    t.notOk('candidates' in blocked)
  }
  const filtered = await jsonOf(askGoogle(sandbox, 'g;finish_reason=RECITATION', question()))
  t.equal(filtered.candidates[0].finishReason, 'RECITATION')
  const responseSchema = { type: 'OBJECT', properties: { sure: { type: 'BOOLEAN' } } }
  const generationConfig = { responseMimeType: 'application/json', responseSchema }
  const json = await jsonOf(askGoogle(sandbox, 'g', question({ generationConfig })))
  t.strictSame(JSON.parse(textIn([json])), { sure: true })
})

t.test('errors are in Google’s shape, also inside a stream', async (t) => {
  const sandbox = await sandboxFor(t)
  const words = [
    [400, 'INVALID_ARGUMENT'],
    [403, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
    [429, 'RESOURCE_EXHAUSTED'],
    [500, 'INTERNAL'],
    [503, 'UNAVAILABLE'],
  ] as const
  for (const [status, word] of words) {
    const response = await askGoogle(
      sandbox,
      `g;status=${status};retry_after=Wed, 21 Oct 2026 07:28:00 GMT`,
      question(),
    )
    t.equal(response.status, status)
    t.match(await response.json(), { error: { code: status, status: word, message: String } })
  }
  const chunks = eventsIn(await (await askGoogle(sandbox, 'g;stream_error=2', question(), true)).text())
  t.equal(chunks.length, 3)
  t.match(chunks[2], { error: { code: 500, status: 'INTERNAL' } })
})

t.test('the other path, the key in the query, and a client that goes', async (t) => {
  const sandbox = await sandboxFor(t)
  const url = new URL(
    `/v1beta/models/gemini-2.5-flash;chunk_delay_ms=20:streamGenerateContent?alt=sse&key=secret`,
    sandbox.url,
  )
  const gone = new AbortController()
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(question()), signal: gone.signal })
  await response.body?.getReader().read()
  gone.abort()
  await until(() => sandbox.calls()[0]?.outcome === 'cancelled')
  t.match(sandbox.calls()[0], { path: /key=\*\*\*$/, usage: { promptTokenCount: 2 } })
  const noKey = await fetch(new URL('/v1beta/models/g:generateContent', sandbox.url), { method: 'POST', body: '{}' })
  t.equal(noKey.status, 403)
})
