import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import { errorStatusOf } from '../../../src/http/error-table.ts'
import type {
  Conversation,
  ConversationPart,
  ConversationTurn,
  Reasoning,
  ToolCallPart,
  ToolDefinition,
  ToolResultPart,
  WebSearch,
} from '../../../src/providers/canonical/conversation.ts'
import { readGenerateContentReply } from '../../../src/providers/google/dialect.ts'
import { generationOf } from '../../../src/providers/google/generation.ts'
import { generateContentRequest } from '../../../src/providers/google/request.ts'
import { asSent } from '../../support/as-sent.ts'
import { answerOf, parallelCalls } from './answers.ts'
import { conversationOf, type Model, targetOf, text } from './target.ts'

const write = (...written: Parameters<typeof generateContentRequest>) => finishSteps(generateContentRequest(...written))

const sent = (
  given: Partial<Conversation> = {},
  model: Model = 'gemini-3.7-flash',
  upstreamModel: string = model,
  outputCap: number | null = null,
): JsonObject =>
  asSent(write(conversationOf(given), targetOf(model, upstreamModel), { stream: false, outputCap }).body) as JsonObject

const contentsOf = (turns: readonly ConversationTurn[], model?: Model) => sent({ turns }, model)['contents']
const user = (...parts: readonly ConversationPart[]): ConversationTurn => ({ role: 'user', parts })
const assistant = (...parts: readonly ConversationPart[]): ConversationTurn => ({ role: 'assistant', parts })

const call = (id: string, name: string, signature: string | null = null, given = '{}'): ToolCallPart => ({
  type: 'tool_call',
  id,
  name,
  arguments: given,
  signature,
  cached: null,
})
const result = (toolCallId: string, ...parts: ToolResultPart['parts']): ToolResultPart => ({
  type: 'tool_result',
  toolCallId,
  parts,
  isError: false,
  cached: null,
})
const tool = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name,
  description: null,
  parameters: null,
  strict: null,
  cached: null,
  ...more,
})
const search: WebSearch = {
  contextSize: null,
  usesMax: null,
  allowedDomains: [],
  blockedDomains: [],
  userLocation: null,
}

t.test('url, headers and the least body', async (t) => {
  const target = targetOf()
  const { url, headers, body } = write(conversationOf(), target, { stream: false, outputCap: null })
  const models = 'https://generativelanguage.googleapis.example/v1beta/models'
  t.equal(url, `${models}/gemini-3.7-flash:generateContent`)
  t.strictSame(headers, {
    'x-goog-api-key': 'AIzaSyProviderKey1234567890',
    'content-type': 'application/json',
    accept: 'application/json',
  })
  t.strictSame(asSent(body), {
    contents: [{ role: 'user', parts: [{ text: 'Say hi' }] }],
    generationConfig: {},
  })
  const slashed = { ...target, provider: { ...target.provider, baseUrl: `${target.provider.baseUrl}/` } }
  const streamed = write(conversationOf(), slashed, { stream: true, outputCap: null })
  t.equal(streamed.url, `${models}/gemini-3.7-flash:streamGenerateContent?alt=sse`)
  t.equal(streamed.headers['accept'], 'text/event-stream')
})

t.test('the system and the settings', async (t) => {
  t.strictSame(
    sent({
      system: [text('Be kind.'), text(''), text('Be brief.')],
      outputTokensMax: 100,
      temperature: 0,
      topP: 0.5,
      topK: 40,
      stopSequences: ['END'],
      user: 'someone',
      parallelToolCalls: false,
    }),
    {
      systemInstruction: { parts: [{ text: 'Be kind.' }, { text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Say hi' }] }],
      generationConfig: { maxOutputTokens: 100, temperature: 0, topP: 0.5, topK: 40, stopSequences: ['END'] },
    },
  )
})

t.test('instructions between the messages keep their place, in the words of the user', async (t) => {
  const turns: readonly ConversationTurn[] = [
    user(text('Hi')),
    { role: 'system', parts: [text('One')] },
    assistant(call('c', 'find')),
    { role: 'system', parts: [text('Two')] },
    user(result('c', text('x'))),
  ]
  t.match(contentsOf(turns, 'gemini-2.5-flash'), [
    { role: 'user', parts: [{ text: 'Hi' }, { text: 'One' }] },
    { role: 'model', parts: [{ functionCall: { name: 'find' } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'find' } }, { text: 'Two' }] },
  ])
})

t.test('the output cap', async (t) => {
  const table: readonly [number | null, number | null, number | undefined][] = [
    [null, null, undefined],
    [100, null, 100],
    [null, 50, 50],
    [100, 50, 50],
    [10, 50, 10],
  ]
  for (const [own, cap, expected] of table) {
    const { generationConfig } = sent({ outputTokensMax: own }, 'gemini-3.7-flash', 'gemini-3.7-flash', cap)
    t.strictSame(generationConfig, expected === undefined ? {} : { maxOutputTokens: expected })
  }
})

t.test('the format of the answer', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
  const configOf = (format: Conversation['format']) => sent({ format })['generationConfig']
  t.strictSame(configOf({ type: 'json' }), { responseMimeType: 'application/json' })
  t.strictSame(configOf({ type: 'schema', name: 'a', description: null, schema, strict: true }), {
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
  })
})

t.test('turns of one role are one content, and what is empty is left out', async (t) => {
  t.strictSame(
    contentsOf([
      user(text('a')),
      user(text(''), text('b')),
      assistant(text('')),
      user(text('c')),
      assistant(text('d'), { type: 'thinking', text: 'hm', signature: 's' }),
      assistant({ type: 'redacted_thinking', data: 'x' }),
      assistant(text('e')),
      user(text('f')),
    ]),
    [
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
      { role: 'model', parts: [{ text: 'd' }, { text: 'e' }] },
      { role: 'user', parts: [{ text: 'f' }] },
    ],
  )
})

t.test('images, audio and documents go inline', async (t) => {
  const parts: readonly ConversationPart[] = [
    { type: 'image', source: { mediaType: 'image/png', base64: 'aaaa' }, detail: 'low', cached: null },
    { type: 'audio', format: 'mp3', base64: 'bbbb' },
    { type: 'document', source: { mediaType: 'application/pdf', base64: 'cccc' }, title: 'x.pdf', cached: null },
    { type: 'document', source: { text: 'plain' }, title: 'Notes', cached: null },
    { type: 'document', source: { text: 'bare' }, title: null, cached: null },
  ]
  t.strictSame(contentsOf([user(...parts)]), [
    {
      role: 'user',
      parts: [
        { inlineData: { mimeType: 'image/png', data: 'aaaa' } },
        { inlineData: { mimeType: 'audio/mp3', data: 'bbbb' } },
        { inlineData: { mimeType: 'application/pdf', data: 'cccc' } },
        { text: 'Notes\n\nplain' },
        { text: 'bare' },
      ],
    },
  ])
})

t.test('calls and their results, in parallel', async (t) => {
  const turns = [
    user(text('Weather?')),
    assistant(
      text('Looking.'),
      call('c1', 'get_weather', 'c2lnbmVk', '{"city":"Paris"}'),
      call('c2', 'get_weather', null, '{"city":"Tokyo"}'),
    ),
    user(result('c1', text('sunny'), text('20 °C'))),
    user({ ...result('c2', text('no such city')), isError: true }, text('Well?')),
  ]
  const expected = [
    { role: 'user', parts: [{ text: 'Weather?' }] },
    {
      role: 'model',
      parts: [
        { text: 'Looking.' },
        {
          functionCall: { id: 'c1', name: 'get_weather', args: { city: 'Paris' } },
          thoughtSignature: 'c2lnbmVk',
        },
        { functionCall: { id: 'c2', name: 'get_weather', args: { city: 'Tokyo' } } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'c1', name: 'get_weather', response: { output: 'sunny\n20 °C' } } },
        { functionResponse: { id: 'c2', name: 'get_weather', response: { error: 'no such city' } } },
        { text: 'Well?' },
      ],
    },
  ]
  t.strictSame(contentsOf(turns), expected)
  t.strictSame(contentsOf(turns, 'gemini-2.5-flash'), expected)
})

t.test('a signature comes back as it was given', async (t) => {
  const reply = readGenerateContentReply(targetOf(), answerOf(parallelCalls, 'STOP'))
  if ('fault' in reply) throw new Error(reply.fault)
  const calls = reply.parts.flatMap((part) => (part.type === 'tool_call' ? [{ ...part, cached: null }] : []))
  const turns = [user(text('x')), assistant(...calls), user(...calls.map(({ id }) => result(id, text('ok'))))]
  t.match(contentsOf(turns), [
    {},
    { parts: parallelCalls },
    { parts: calls.map(({ id }) => ({ functionResponse: { id, name: 'get_weather' } })) },
  ])
})

t.test('Gemini 3 is told that a step is not signed, Gemini 2 does not ask', async (t) => {
  const turns = [user(text('x')), assistant(call('c1', 'a'), call('c2', 'b')), user(text('y'))]
  const [first, second] = [
    { functionCall: { id: 'c1', name: 'a', args: {} } },
    { functionCall: { id: 'c2', name: 'b', args: {} } },
  ]
  t.strictSame((contentsOf(turns) as JsonObject[])[1], {
    role: 'model',
    parts: [{ ...first, thoughtSignature: 'skip_thought_signature_validator' }, second],
  })
  t.strictSame((contentsOf(turns, 'gemini-2.5-flash') as JsonObject[])[1], { role: 'model', parts: [first, second] })
})

t.test('images of a result stand in it, or beside all results before Gemini 3', async (t) => {
  const picture = {
    type: 'image',
    source: { mediaType: 'image/png', base64: 'aaaa' },
    detail: null,
    cached: null,
  } as const
  const inline = { inlineData: { mimeType: 'image/png', data: 'aaaa' } }
  const turns = [
    user(text('x')),
    assistant(call('c1', 'shot', 's'), call('c2', 'shot')),
    user(result('c1', text('here'), picture), result('c2', text('none'))),
  ]
  const one = { functionResponse: { id: 'c1', name: 'shot', response: { output: 'here' } } }
  const two = { functionResponse: { id: 'c2', name: 'shot', response: { output: 'none' } } }
  t.strictSame((contentsOf(turns) as JsonObject[])[2], {
    role: 'user',
    parts: [{ functionResponse: { ...one.functionResponse, parts: [inline] } }, two],
  })
  t.strictSame((contentsOf(turns, 'gemini-2.5-flash') as JsonObject[])[2], { role: 'user', parts: [one, two, inline] })
})

t.test('functions are declared by their JSON Schema', async (t) => {
  const parameters = { $schema: 'x', type: 'object', properties: {}, additionalProperties: false }
  const tools = [tool('a', { description: 'does a', parameters, strict: true }), tool('b')]
  t.match(sent({ tools }), {
    tools: [
      { functionDeclarations: [{ name: 'a', description: 'does a', parametersJsonSchema: parameters }, { name: 'b' }] },
    ],
    toolConfig: undefined,
  })
})

t.test('the choice of a tool', async (t) => {
  const tools = [tool('a')]
  const table: readonly [Conversation['toolChoice'], JsonObject][] = [
    [{ type: 'auto' }, { mode: 'AUTO' }],
    [{ type: 'none' }, { mode: 'NONE' }],
    [{ type: 'required' }, { mode: 'ANY' }],
    [
      { type: 'tool', name: 'a' },
      { mode: 'ANY', allowedFunctionNames: ['a'] },
    ],
  ]
  for (const [toolChoice, functionCallingConfig] of table) {
    t.strictSame(sent({ tools, toolChoice })['toolConfig'], { functionCallingConfig })
    t.notOk('toolConfig' in sent({ toolChoice }), 'nothing to choose from')
  }
})

t.test('web search', async (t) => {
  for (const model of ['gemini-2.5-flash', 'gemini-3.7-flash'] as const)
    t.strictSame(sent({ webSearch: search }, model)['tools'], [{ googleSearch: {} }])
  t.ok(sent({ webSearch: { ...search, usesMax: 5 } }, 'gemini-2.5-flash')['tools'], 'one charge whatever it does')
})

t.test('the generation of a model', async (t) => {
  const table: readonly [string, number][] = [
    ['gemini-2.0-flash', 2],
    ['gemini-2.5-flash-lite', 2],
    ['gemini-3-flash-preview', 3],
    ['gemini-3.1-pro-preview', 3],
    ['gemini-4-argon', 4],
    ['gemini-flash-latest', 3],
  ]
  for (const [name, generation] of table) t.equal(generationOf(name), generation, name)
})

t.test('how much a model thinks', async (t) => {
  const effort = (word: string): Reasoning => ({ type: 'effort', effort: word })
  const budget = (tokens: number): Reasoning => ({ type: 'budget', tokens })
  const adaptive: Reasoning = { type: 'adaptive', effort: null }
  const off: Reasoning = { type: 'off' }
  const table: readonly [string, Reasoning, string | number | undefined][] = [
    ['gemini-2.5-flash', effort('minimal'), 1_024],
    ['gemini-2.5-flash', effort('low'), 1_024],
    ['gemini-2.5-flash', effort('medium'), 8_192],
    ['gemini-2.5-flash', effort('high'), 24_576],
    ['gemini-2.5-flash', effort('max'), 24_576],
    ['gemini-2.5-flash', effort('new_word'), -1],
    ['gemini-2.5-flash', adaptive, -1],
    ['gemini-2.5-flash', { type: 'adaptive', effort: 'low' }, 1_024],
    ['gemini-2.5-flash', budget(2_000), 2_000],
    ['gemini-2.5-flash', budget(100_000), 24_576],
    ['gemini-2.5-flash-lite', budget(100), 512],
    ['gemini-2.5-pro', budget(100), 128],
    ['gemini-2.5-pro', budget(100_000), 32_768],
    ['gemini-3.7-flash', effort('minimal'), 'low'],
    ['gemini-3.5-flash-lite', effort('minimal'), 'minimal'],
    ['gemini-3-flash-preview', effort('minimal'), 'minimal'],
    ['gemini-3.1-pro-preview', effort('minimal'), 'low'],
    ['gemini-3.7-flash', effort('low'), 'low'],
    ['gemini-3.7-flash', effort('medium'), 'medium'],
    ['gemini-3.7-flash', effort('xhigh'), 'high'],
    ['gemini-3.7-flash', effort('new_word'), undefined],
    ['gemini-3.7-flash', adaptive, undefined],
    ['gemini-3.7-flash', budget(1_024), 'low'],
    ['gemini-3.7-flash', budget(1_025), 'medium'],
    ['gemini-3.7-flash', budget(8_193), 'high'],
  ]
  const configOf = (upstreamModel: string, reasoning: Reasoning | null) => {
    const { thinkingConfig } = sent({ reasoning }, 'gemini-3.7-flash', upstreamModel)['generationConfig'] as JsonObject
    return thinkingConfig
  }
  for (const [model, reasoning, amount] of table) {
    const name = typeof amount === 'number' ? 'thinkingBudget' : 'thinkingLevel'
    const expected = { includeThoughts: true, ...(amount === undefined ? {} : { [name]: amount }) }
    t.strictSame(configOf(model, reasoning), expected, `${model} ${JSON.stringify(reasoning)}`)
  }
  for (const reasoning of [off, effort('none')]) {
    t.strictSame(configOf('gemini-2.5-flash', reasoning), { includeThoughts: false, thinkingBudget: 0 })
    t.strictSame(configOf('gemini-2.5-pro', reasoning), { includeThoughts: false, thinkingBudget: 128 })
    t.strictSame(configOf('gemini-3.7-flash', reasoning), { includeThoughts: false, thinkingLevel: 'low' })
    t.strictSame(configOf('gemini-3.6-flash', reasoning), { includeThoughts: false, thinkingLevel: 'minimal' })
  }
  t.equal(configOf('gemini-3.7-flash', null), undefined)
  t.equal(configOf('gemini-2.0-flash', effort('low')), undefined)
})

t.test('what cannot be asked', async (t) => {
  const url = { url: 'https://example.com/a.pdf' }
  const paper: ConversationPart = { type: 'document', source: url, title: null, cached: null }
  const table: readonly [string, Partial<Conversation>, string, string, Model?][] = [
    ['a document by URL', { turns: [user(paper)] }, 'unsupported_parameter', 'messages'],
    ['a result without its call', { turns: [user(result('c1', text('x')))] }, 'invalid_value', 'messages'],
    [
      'a result before its call',
      { turns: [user(result('c1', text('x'))), assistant(call('c1', 'a'))] },
      'invalid_value',
      'messages',
    ],
    ['arguments that are no object', { turns: [assistant(call('c1', 'a', null, '[]'))] }, 'invalid_value', 'messages'],
    ['arguments that are no JSON', { turns: [assistant(call('c1', 'a', null, '{'))] }, 'invalid_value', 'messages'],
    ['a reserved name', { tools: [tool('a'), tool('googleSearch')] }, 'invalid_value', 'tools[1]'],
    ['another reserved name', { tools: [tool('codeExecution')] }, 'invalid_value', 'tools[0]'],
    ['a third reserved name', { tools: [tool('urlContext')] }, 'invalid_value', 'tools[0]'],
    ['search and functions', { tools: [tool('a')], webSearch: search }, 'unsupported_parameter', 'tools'],
    [
      'search within domains',
      { webSearch: { ...search, allowedDomains: ['a.example'] } },
      'unsupported_parameter',
      'tools',
    ],
    [
      'search outside domains',
      { webSearch: { ...search, blockedDomains: ['a.example'] } },
      'unsupported_parameter',
      'tools',
    ],
    ['a demanded search', { webSearch: { ...search, isForced: true } }, 'unsupported_parameter', 'tool_choice'],
    ['bounded search by query', { webSearch: { ...search, usesMax: 1 } }, 'unsupported_parameter', 'tools'],
  ]
  for (const [name, given, code, param, model] of table) {
    try {
      sent(given, model)
      t.fail(name)
    } catch (fault) {
      if (!(fault instanceof GatewayError)) throw fault
      t.strictSame([fault.code, fault.param, errorStatusOf(fault)], [code, param, 400], name)
    }
  }
})

t.test('a search that has no price is not asked for', async (t) => {
  for (const [model, upstreamModel] of [
    ['gemini-2.5-flash', 'gemini-3.7-flash'],
    ['gemini-3.7-flash', 'gemini-2.5-flash'],
  ] as const)
    t.throws(() => sent({ webSearch: search }, model, upstreamModel), { code: 'unsupported_parameter', param: 'tools' })
})

t.test('a service tier is requested where it has a price, and Google has it', async (t) => {
  const flex = { per_million_tokens: { input: '0.375', output: '1.875' } }
  const bodyFor = (serviceTier: string | null, sold: PriceSheet['service_tiers']): JsonObject => {
    const target = targetOf('gemini-3.7-flash', 'gemini-3.7-flash')
    const priced = { ...target, sheet: { ...target.sheet, ...(sold === undefined ? {} : { service_tiers: sold }) } }
    const asking = { stream: false, outputCap: null }
    return asSent(write(conversationOf({ serviceTier }), priced, asking).body) as JsonObject
  }
  t.equal(bodyFor('flex', { flex })['serviceTier'], 'flex')
  t.equal(bodyFor('priority', { flex })['serviceTier'], undefined, 'without a price: the standard one')
  t.equal(bodyFor('ultrafast', { ultrafast: flex })['serviceTier'], undefined, 'a tier that Google does not have')
  t.equal(bodyFor(null, { flex })['serviceTier'], undefined)
})
