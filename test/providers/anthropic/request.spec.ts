import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { countTokensRequest } from '../../../src/providers/anthropic/count-tokens.ts'
import { anthropicMessages } from '../../../src/providers/anthropic/dialect.ts'
import { asSent } from '../../support/as-sent.ts'
import { askedOf, sheet, targetOf } from './target.ts'

const { buildRequest: messagesRequest } = anthropicMessages

const sent = (body: JsonObject, options: { stream?: boolean; cap?: number } = {}): JsonObject =>
  asSent(messagesRequest(targetOf(), askedOf(body, options.stream ?? false, options.cap ?? null)).body) as JsonObject

t.test('url and headers', async (t) => {
  const { url, headers } = messagesRequest(targetOf(), askedOf())
  t.equal(url, 'https://api.alpha.example/v1/messages')
  t.strictSame(headers, {
    'x-api-key': 'sk-ant-provider-key-123456',
    'anthropic-version': '2023-06-01',
    'content-type': 'application/json',
    accept: 'application/json',
  })
  const target = targetOf()
  const slashed = { ...target, provider: { ...target.provider, baseUrl: 'https://api.alpha.example/v1/' } }
  t.equal(messagesRequest(slashed, askedOf()).url, url)
  t.equal(messagesRequest(target, askedOf({}, true)).headers['accept'], 'text/event-stream')
})

t.test('two headers of the caller go on, and no other', async (t) => {
  const caller = {
    'anthropic-version': '2024-01-01',
    'anthropic-beta': 'a,b',
    'x-api-key': 'sk-gateway',
    authorization: 'Bearer sk-gateway',
    cookie: 'c',
  }
  const { headers } = messagesRequest(targetOf(), { ...askedOf(), headers: caller })
  t.strictSame(
    [headers['anthropic-version'], headers['anthropic-beta'], headers['x-api-key']],
    ['2024-01-01', 'a,b', 'sk-ant-provider-key-123456'],
  )
  t.notOk('authorization' in headers || 'cookie' in headers)
})

t.test('the model is the upstream name, the tier is the priced one, all else is untouched', async (t) => {
  t.strictSame(sent({ model: 'anthropic/x', temperature: 0.5, some_new_field: { a: [1] } }, { stream: true }), {
    model: 'claude-sonnet-4-5',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Say hi' }],
    temperature: 0.5,
    some_new_field: { a: [1] },
    stream: true,
    service_tier: 'standard_only',
  })
})

t.test('nothing is asked for that costs more than the sheet says', async (t) => {
  for (const tier of ['auto', 'priority', null]) t.equal(sent({ service_tier: tier })['service_tier'], 'standard_only')
  t.notOk('speed' in sent({ speed: 'fast' }))
  t.equal(sent({ inference_geo: 'global' })['inference_geo'], 'global')
  t.throws(() => sent({ inference_geo: 'us' }), { code: 'unsupported_parameter', param: 'inference_geo' })
  const regional = { ...targetOf(), sheet: { ...sheet, region_multipliers: { us: '1.1' } } }
  t.match(asSent(messagesRequest(regional, askedOf({ inference_geo: 'us' })).body), { inference_geo: 'us' })
  t.throws(() => sent({ fallbacks: [{ model: 'claude-opus-5' }] }), {
    code: 'unsupported_parameter',
    param: 'fallbacks',
  })
  t.throws(() => sent({ thread: { type: 'create' } }), {
    code: 'unsupported_parameter',
    param: 'thread',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
  t.throws(() => sent({ container: 'container_1' }), { code: 'unsupported_parameter', param: 'container' })
  t.doesNotThrow(() => sent({ container: null, fallbacks: [] }))
})

const callersTools = [
  'custom',
  'bash_20250124',
  'text_editor_20250728',
  'computer_20251124',
  'computer_toolset_20260801',
  'browser_toolset_20260801',
  'memory_20250818',
]
const freeTools = ['web_fetch_20260318', 'tool_search_tool_bm25_20251119', 'tool_search_tool_regex', 'mcp_toolset']
const pricedTools = ['web_search_20250305', 'web_search_20260318']
const unpricedTools = ['code_execution_20250522', 'code_execution_20260521', 'advisor_20260301']
const refusedTools = [
  'image_generation_20270101',
  'web_search',
  'web_search_pro_20270101',
  'web_fetch_20260318_fast',
  'bash',
  '',
]

t.test('the tools that we know what they cost pass, and no other', async (t) => {
  const own = { name: 'f', input_schema: {} }
  for (const type of [...callersTools, ...freeTools, ...pricedTools, null]) {
    const tools = [own, { type, name: 'g' }]
    t.strictSame(sent({ tools })['tools'], tools)
  }
  for (const type of refusedTools)
    t.throws(() => sent({ tools: [own, { type, name: 'g' }] }), {
      code: 'unsupported_parameter',
      param: 'tools[1].type',
    })
  for (const type of [7, {}, [], ['custom']])
    t.throws(() => sent({ tools: [{ type }] }), { code: 'unsupported_parameter', param: 'tools[0].type' })
})

t.test('a tool that is defined inside a message is the caller’s own, or belongs into `tools`', async (t) => {
  const addition = (type: string | null): JsonObject => ({
    type: 'tool_addition',
    tool: { type: 'tool_definition', definition: { type, name: 'g' } },
  })
  const message = (...content: readonly JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] })
  const compaction = (type: string | null): JsonObject => ({
    type: 'compaction',
    content: 'before',
    tool_changes: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } }, addition(type)],
  })
  for (const type of [...callersTools, null])
    for (const body of [message(addition(type)), message(compaction(type))])
      t.strictSame(sent(body)['messages'], body['messages'])
  for (const type of [...freeTools, ...pricedTools, ...unpricedTools, ...refusedTools]) {
    t.throws(() => sent(message({ type: 'text', text: 'a' }, addition(type))), {
      code: 'unsupported_parameter',
      param: 'messages[0].content[1].tool.definition.type',
    })
    t.throws(() => sent(message(compaction(type))), {
      code: 'unsupported_parameter',
      param: 'messages[0].content[0].tool_changes[1].tool.definition.type',
    })
  }
  const reference = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } }
  t.strictSame(sent(message(reference))['messages'], [{ role: 'user', content: [reference] }])
})

t.test('a tool without a price is dropped where it is offered, and refused where it is demanded', async (t) => {
  const { per_call: _none, ...unpriced } = sheet
  const target = targetOf('claude-sonnet-4-5', unpriced)
  const own = { name: 'f', input_schema: {} }
  for (const type of [...pricedTools, ...unpricedTools]) {
    const tool = { type, name: 'g' }
    const requested = (body: JsonObject) => messagesRequest(target, askedOf({ tools: [own, tool], ...body }))
    for (const tool_choice of [undefined, { type: 'auto' }, { type: 'none' }, { type: 'any' }]) {
      const { body, droppedTools } = requested({ tool_choice })
      t.strictSame(asSent(body).tools, [own])
      t.same(asSent(body).tool_choice, tool_choice)
      t.same(droppedTools, [type])
    }
    const refused = { code: 'unsupported_parameter', param: 'tools[1].type' }
    t.throws(() => requested({ tool_choice: { type: 'tool', name: 'g' } }), refused)
    const alone = { tools: [tool] }
    const { body } = requested({ ...alone, tool_choice: { type: 'auto' } })
    t.notOk('tools' in asSent(body) || 'tool_choice' in asSent(body))
    t.throws(() => requested({ ...alone, tool_choice: { type: 'any' } }), { ...refused, param: 'tools[0].type' })
  }
  const tools = [{ type: 'web_search_20260318', name: 'web_search' }]
  t.strictSame(sent({ tools })['tools'], tools)
  t.notOk('droppedTools' in messagesRequest(targetOf(), askedOf({ tools })))
})

t.test('a tool that was dropped is not counted', async (t) => {
  const delivered = { texts: ['hi'], reasoningTexts: [], charactersBeyond: 0, characters: 2 }
  const counted = (tools: readonly JsonObject[]) =>
    anthropicMessages.countUsage(targetOf(), askedOf({ tools }), delivered)
  const [own, runs] = [
    { name: 'f', input_schema: {} },
    { type: 'code_execution_20260521', name: 'code_execution' },
  ]
  t.strictSame(await counted([own, runs]), await counted([own]))
  const { body } = finishSteps(countTokensRequest(targetOf(), askedOf({ tools: [own, runs] })))
  t.strictSame(asSent(body).tools, [own])
})

t.test('the output cap', async (t) => {
  const enabled = (budget: number) => ({ type: 'enabled', budget_tokens: budget, display: 'omitted' })
  const table: readonly [name: string, body: JsonObject, cap: number, maxTokens: number, thinking: unknown][] = [
    ['below the cap', { max_tokens: 10 }, 50, 10, undefined],
    ['lowered', { max_tokens: 100 }, 50, 50, undefined],
    ['a budget that still fits', { max_tokens: 9000, thinking: enabled(2000) }, 3000, 3000, enabled(2000)],
    ['half of what is left', { max_tokens: 9000, thinking: enabled(8000) }, 6000, 6000, enabled(3000)],
    ['at least the least budget', { max_tokens: 9000, thinking: enabled(8000) }, 1500, 1500, enabled(1024)],
    ['no room', { max_tokens: 9000, thinking: enabled(8000) }, 1024, 1024, { type: 'disabled' }],
    ['adaptive has no budget', { max_tokens: 9000, thinking: { type: 'adaptive' } }, 20, 20, { type: 'adaptive' }],
    ['not lowered, not touched', { max_tokens: 5000, thinking: enabled(6000) }, 5000, 5000, enabled(6000)],
  ]
  for (const [name, body, cap, maxTokens, thinking] of table) {
    const { max_tokens, thinking: kept } = sent(body, { cap })
    t.strictSame([max_tokens, kept], [maxTokens, thinking], name)
  }
})

t.test('what we wrote for another model is not sent', async (t) => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
  const signed = { type: 'thinking', thinking: 'b', signature: 'sig' }
  const content = [{ type: 'thinking', thinking: 'a', signature: '' }, signed, { ...call, signature: 'gemini' }]
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content },
  ]
  t.strictSame(sent({ messages })['messages'], [messages[0], { role: 'assistant', content: [signed, call] }])
  const only = { role: 'assistant', content: [content[0]] }
  t.strictSame(sent({ messages: [messages[0], only, messages[0]] })['messages'], [messages[0], messages[0]])
  t.equal(content.length, 3, 'the call is left as it was: another candidate may need it')
})

t.test('a file of the provider’s account is refused, wherever it is named', async (t) => {
  const file = { type: 'document', source: { type: 'file', file_id: 'file_1' } }
  const message = (...content: readonly JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] })
  const table: readonly [JsonObject, string][] = [
    [message({ type: 'text', text: 'a' }, file), 'messages[0].content[1].source.file_id'],
    [message({ type: 'image', source: file.source }), 'messages[0].content[0].source.file_id'],
    [message({ type: 'container_upload', file_id: 'file_1' }), 'messages[0].content[0].file_id'],
    [
      message({ type: 'tool_result', tool_use_id: 't', content: [file] }),
      'messages[0].content[0].content[0].source.file_id',
    ],
    [
      message({ type: 'document', source: { type: 'content', content: [{ type: 'image', source: file.source }] } }),
      'messages[0].content[0].source.content[0].source.file_id',
    ],
    [{ system: [file] }, 'system[0].source.file_id'],
  ]
  for (const [body, param] of table) {
    t.throws(() => sent(body), { code: 'unsupported_parameter', param })
    t.throws(() => finishSteps(countTokensRequest(targetOf(), askedOf(body))), { code: 'unsupported_parameter', param })
  }
  t.doesNotThrow(() => sent(message({ type: 'tool_use', id: 't', name: 'f', input: { file_id: 'file_1' } })))
})
