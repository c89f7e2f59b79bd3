import fc from 'fast-check'
import t from 'tap'
import { asArray, asObject, type JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import type { Reply, ReplyPart } from '../../../src/providers/canonical/reply.ts'
import { geminiClient } from '../../../src/providers/google/dialect.ts'
import { readCountMembers, readGeminiMembers } from '../../../src/providers/google/members.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { anyReply, eventsOf, replyOf, served, usage } from '../canonical/replies.ts'

const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
const withPart = (part: JsonObject): JsonObject => ({ contents: [{ role: 'user', parts: [part] }] })
const withTool = (tool: JsonObject): JsonObject => ({ contents, tools: [tool] })
const withConfig = (generationConfig: JsonObject): JsonObject => ({ contents, generationConfig })

/** Each names something of the gateway's account, or makes the provider fetch with it; or has no price; or is not known. */
const refused: readonly (readonly [JsonObject, string])[] = [
  [{ contents, cachedContent: 'cachedContents/a' }, 'cachedContent'],
  [{ contents, cached_content: 'cachedContents/a' }, 'cachedContent'],
  [withPart({ fileData: { fileUri: 'gs://bucket/a.png' } }), 'contents[0].parts[0].fileData'],
  [withPart({ file_data: { file_uri: 'https://example.com/a.png' } }), 'contents[0].parts[0].fileData'],
  [{ contents, system_instruction: { parts: [{ fileData: {} }] } }, 'systemInstruction.parts[0].fileData'],
  [
    withPart({ functionResponse: { name: 'f', response: {}, parts: [{ fileData: { fileUri: 'files/a' } }] } }),
    'contents[0].parts[0].functionResponse.parts[0].fileData',
  ],
  ...['fileSearch', 'retrieval', 'googleMaps', 'googleSearchRetrieval', 'computerUse', 'mcpServers', 'newTool'].map(
    (name) => [withTool({ [name]: {} }), `tools[0].${name}`] as const,
  ),
  [withConfig({ speechConfig: {} }), 'generationConfig.speechConfig'],
  [withConfig({ routingConfig: {} }), 'generationConfig.routingConfig'],
  [{ contents, labels: { a: 'b' } }, 'labels'],
  [{ contents, continuationToken: 'a' }, 'continuationToken'],
  [{ contents, store: true }, 'store'],
]

t.test('a wrapped request is counted in place of the contents beside it', async (t) => {
  const wrapped = [{ role: 'user', parts: [{ text: 'Wrapped' }] }]
  t.same(readCountMembers({ contents, generateContentRequest: { contents: wrapped } }), { contents: wrapped })
  t.same(readCountMembers({ contents, generateContentRequest: {} }), {}, 'which is refused for want of contents')
})

t.test('what names an object of the account, and what is not known, is refused with its path', async (t) => {
  for (const [body, param] of refused) {
    t.throws(() => readGeminiMembers(body), { code: 'unsupported_parameter', param }, param)
    t.throws(
      () => readCountMembers({ generateContentRequest: body }),
      { code: 'unsupported_parameter', param },
      `counted: ${param}`,
    )
  }
  t.throws(() => readGeminiMembers({ contents, systemInstruction: {}, system_instruction: {} }), {
    code: 'invalid_value',
    param: 'systemInstruction',
  })
})

t.test('both spellings are one, and what is inside of values is not touched', async (t) => {
  const free = { file_data: { cached_content: 1 } }
  t.same(
    readGeminiMembers({
      contents: [
        {
          parts: [
            { inline_data: { mime_type: 'image/png', data: 'AA' } },
            { function_call: { name: 'f', args: free } },
          ],
        },
      ],
      generation_config: { max_output_tokens: 5, thinking_config: { thinking_budget: 0 } },
    }),
    {
      contents: [
        { parts: [{ inlineData: { mimeType: 'image/png', data: 'AA' } }, { functionCall: { name: 'f', args: free } }] },
      ],
      generationConfig: { maxOutputTokens: 5, thinkingConfig: { thinkingBudget: 0 } },
    },
  )
})

const read = (body: JsonObject, owner = 'alpha') => finishSteps(geminiClient.readRequest(body, owner))

t.test('functions without ids are matched by their names, in order', async (t) => {
  const call = (name: string): JsonObject => ({ functionCall: { name, args: { a: name } } })
  const result = (name: string, output: string): JsonObject => ({ functionResponse: { name, response: { output } } })
  const { turns } = read({
    contents: [
      ...contents,
      { role: 'model', parts: [call('f'), call('g'), call('f')] },
      { role: 'user', parts: [result('f', '1'), result('g', '2'), result('f', '3')] },
    ],
  })
  t.match(turns[1]?.parts, [{ id: 'call_0' }, { id: 'call_1' }, { id: 'call_2', arguments: '{"a":"f"}' }])
  t.match(turns[2]?.parts, [
    { toolCallId: 'call_0', parts: [{ text: '1' }] },
    { toolCallId: 'call_1', parts: [{ text: '2' }] },
    { toolCallId: 'call_2', parts: [{ text: '3' }] },
  ])
  t.throws(() => read({ contents: [{ role: 'user', parts: [result('f', '1')] }] }), {
    code: 'invalid_value',
    param: 'contents[0].parts[0].functionResponse',
  })
})

t.test('results are matched by id in any order, and by name where no call has the id', async (t) => {
  const call = (id: string): JsonObject => ({ functionCall: { id, name: 'f', args: {} } })
  const result = (id: string): JsonObject => ({ functionResponse: { id, name: 'f', response: { output: id } } })
  const { turns } = read({
    contents: [
      ...contents,
      { role: 'model', parts: [call('a'), call('b'), call('c')] },
      { role: 'user', parts: [result('c'), result('unknown'), result('b')] },
    ],
  })
  t.match(turns[2]?.parts, [{ toolCallId: 'c' }, { toolCallId: 'a' }, { toolCallId: 'b' }])
})

t.test('other letters of base64, and a signature with many separators, are read at once', async (t) => {
  const image = { inlineData: { mimeType: 'image/png', data: '-_'.repeat(2_000_000) } }
  const ms = cpuMsOf(() => {
    const [turn] = read(withPart(image)).turns
    t.match(turn?.parts, [{ source: { base64: /^[+]\/[+]\// } }])
  })
  t.ok(ms < 200, `${ms.toFixed(0)} ms`)
  const thoughtSignature = Buffer.from(`gw1:${' '.repeat(5_000_000)}`).toString('base64')
  const parts = [{ text: 'a', thoughtSignature }]
  const signedMs = cpuMsOf(() => read({ contents: [...contents, { role: 'model', parts }] }))
  t.ok(signedMs < 200, `${signedMs.toFixed(0)} ms`)
})

t.test("Google's schemas become JSON Schema", async (t) => {
  const schema = {
    type: 'OBJECT',
    nullable: true,
    propertyOrdering: ['a'],
    properties: { a: { type: 'ARRAY', minItems: '2', items: { type: 'STRING', format: 'enum', enum: ['x'] } } },
  }
  const expected = {
    type: ['object', 'null'],
    properties: { a: { type: 'array', minItems: 2, items: { type: 'string', enum: ['x'] } } },
  }
  const tools = [
    { functionDeclarations: [{ name: 'f', parameters: schema }] },
    { codeExecution: {} },
    { googleSearch: {} },
  ]
  const conversation = read({ ...withConfig({ responseMimeType: 'application/json', responseSchema: schema }), tools })
  t.same(conversation.tools[0]?.parameters, expected)
  t.match(conversation, {
    format: { schema: expected },
    droppedTools: ['codeExecution'],
    webSearch: { isOptional: true },
  })
})

t.test('how much a model thinks', async (t) => {
  const rows: readonly (readonly [JsonObject, object | null])[] = [
    [{ thinkingBudget: 0 }, { type: 'off' }],
    [{ thinkingBudget: -1 }, { type: 'adaptive' }],
    [{ thinkingBudget: 900 }, { type: 'budget', tokens: 900 }],
    [{ thinkingLevel: 'LOW' }, { type: 'effort', effort: 'low' }],
    [{ includeThoughts: false }, null],
  ]
  for (const [thinkingConfig, reasoning] of rows) t.match(read(withConfig({ thinkingConfig })).reasoning, reasoning)
})

const shows = withConfig({ thinkingConfig: { includeThoughts: true } })

const whole = (reply: Parameters<typeof geminiClient.writeReply>[0], body = shows): JsonObject =>
  geminiClient.writeReply(reply, served, body)

const streamed = (reply: Reply, body = shows): readonly JsonObject[] => {
  const writer = geminiClient.openWriter(served, body)
  const text =
    eventsOf(reply)
      .map((event) => writer.write(event))
      .join('') + writer.close(usage)
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.replace('data: ', '')))
}

const partsOf = (json: JsonObject): readonly JsonObject[] =>
  asArray(asObject(asObject(asArray(json['candidates'])[0])['content'])['parts']).map(asObject)

const textOf = (parts: readonly JsonObject[], thought: boolean): string =>
  parts.map(({ text = '', ...part }) => ((part['thought'] === true) === thought ? text : '')).join('')

t.test('an answer has the same texts, calls and end whole and streamed', async () => {
  const property = fc.property(anyReply, (reply) => {
    const [one, all] = [whole(reply), streamed(reply)]
    const parts = all.flatMap(partsOf)
    const calls = (these: readonly JsonObject[]) =>
      JSON.stringify(these.flatMap(({ functionCall }) => functionCall ?? []))
    const end = all.at(-1) ?? {}
    const finishOf = (json: JsonObject) => asObject(asArray(json['candidates'])[0])['finishReason']
    return (
      textOf(partsOf(one), false) === textOf(parts, false) &&
      textOf(partsOf(one), true) === textOf(parts, true) &&
      calls(partsOf(one)) === calls(parts) &&
      finishOf(one) === finishOf(end) &&
      JSON.stringify(one['usageMetadata']) === JSON.stringify(end['usageMetadata'])
    )
  })
  fc.assert(property, propertyRuns(200))
})

const thinking: readonly ReplyPart[] = [
  { type: 'thinking', text: 'Hm.', signature: 'c2ln' },
  { type: 'redacted_thinking', data: 'hidden' },
  { type: 'tool_call', id: 'call_7', name: 'find', arguments: '{"n":12345678901234567890}', signature: 'Y2FsbA==' },
]

t.test('what a model needs back returns to its provider alone, from clients that drop thoughts too', async (t) => {
  for (const parts of [partsOf(whole(replyOf(thinking))), streamed(replyOf(thinking)).flatMap(partsOf)])
    for (const kept of [parts, parts.filter((part) => part['thought'] !== true)]) {
      const body = { contents: [...contents, { role: 'model', parts: kept }] }
      t.match(read(body).turns[1]?.parts, [
        { type: 'thinking', text: 'Hm.', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'hidden' },
        { type: 'tool_call', id: 'call_7', signature: 'Y2FsbA==' },
      ])
      t.match(read(body, 'beta').turns[1]?.parts, [{ type: 'tool_call', signature: null }])
      t.equal(read(body, 'beta').turns[1]?.parts.length, 1)
    }
})

t.test('integers keep their digits, and thoughts are shown to those who ask for them', async (t) => {
  t.match(JSON.stringify(whole(replyOf(thinking))), '"args":{"n":12345678901234567890}')
  t.equal(textOf(partsOf(whole(replyOf(thinking))), true), 'Hm.')
  t.equal(textOf(partsOf(whole(replyOf(thinking), { contents })), true), '')
  t.notMatch(JSON.stringify(streamed(replyOf(thinking), { contents })), 'Hm.')
})

t.test('the usage has all members, and citations are in bytes', async (t) => {
  const citations = [{ url: 'https://a.example', title: null, citedText: null, range: { start: 2, end: 4 } }]
  const json = whole(replyOf([{ type: 'text', text: 'é: ok', citations }]))
  t.match(json, {
    modelVersion: served.model,
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: 3,
      totalTokenCount: 15,
      cachedContentTokenCount: 3,
      thoughtsTokenCount: 2,
      toolUsePromptTokenCount: 0,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
      candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
      cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
    },
    candidates: [
      { groundingMetadata: { groundingSupports: [{ segment: { startIndex: 3, endIndex: 5, text: ' o' } }] } },
    ],
  })
})
