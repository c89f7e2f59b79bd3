import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { errorStatusOf } from '../../../src/http/error-table.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'
import { openaiResponses } from '../../../src/providers/openai-responses/dialect.ts'
import { referencedResponseOf } from '../../../src/providers/openai-responses/references.ts'
import { toolCallsMaxOf } from '../../../src/providers/openai-responses/tools.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { asSent } from '../../support/as-sent.ts'
import { askedOf, codeRun, fileSearch, image, messageOf, search, sheetOf, targetOf } from './fixtures.ts'

const { buildRequest: responsesRequest } = openaiResponses

const sent = (body: JsonObject, options: { cap?: number; profile?: Profile } = {}): JsonObject =>
  asSent(responsesRequest(targetOf(options.profile), askedOf(body, false, options.cap ?? null)).body) as JsonObject

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (fault) {
    if (fault instanceof GatewayError) return `${errorStatusOf(fault)} ${fault.code} ${fault.param}`
    throw fault
  }
  return ''
}

t.test('url and headers', async (t) => {
  const { url, headers } = responsesRequest(targetOf(), askedOf())
  t.equal(url, 'https://api.alpha.example/v1/responses')
  t.match(headers, { authorization: 'Bearer sk-provider-key-123456', accept: 'application/json' })
  const target = targetOf()
  const slashed = { ...target, provider: { ...target.provider, baseUrl: 'https://api.alpha.example/v1/' } }
  const streamed = responsesRequest(slashed, askedOf({}, true))
  t.equal(streamed.url, url)
  t.equal(streamed.headers['accept'], 'text/event-stream')
  t.equal(asSent(streamed.body).stream, true)
})

t.test('the model is the upstream name, all else is untouched', async (t) => {
  const body = {
    temperature: 0.5,
    some_new_field: { a: [1] },
    max_output_tokens: null,
    tools: [{ type: 'function', name: 'f' }],
  }
  t.strictSame(sent({ model: 'alpha/x', ...body }), { model: 'gpt-5', input: 'Say hi', ...body })
})

t.test('service tiers that are not priced are not asked for', async (t) => {
  for (const tier of ['auto', 'default', 'flex', 'priority', null, 1])
    t.notOk('service_tier' in sent({ service_tier: tier }))
})

t.test('the output cap', async (t) => {
  const capped = (body: JsonObject, cap?: number) => sent(body, cap === undefined ? {} : { cap })['max_output_tokens']
  t.equal(capped({ max_output_tokens: 100 }, 50), 50)
  t.equal(capped({ max_output_tokens: 10 }, 50), 10)
  t.equal(capped({}, 50), 50)
  t.equal(capped({ max_output_tokens: null }, 50), 50)
  t.equal(capped({ max_output_tokens: 100 }), 100)
})

t.test('xAI searches by an older parameter are not billable', async (t) => {
  t.notOk('search_parameters' in sent({ search_parameters: { mode: 'on' } }, { profile: 'xai' }))
})

t.test('an image has a model and no previews', async (t) => {
  const tools = (tool: JsonObject) => sent({ tools: [{ type: 'image_generation', ...tool }] })['tools']
  t.strictSame(tools({ partial_images: 3, quality: 'low' }), [
    { type: 'image_generation', quality: 'low', model: 'gpt-image-1.5' },
  ])
  t.strictSame(tools({ model: 'gpt-image-1-mini' }), [{ type: 'image_generation', model: 'gpt-image-1-mini' }])
})

const auto = { type: 'auto' }

/** Each line: the tools, whose upstream, and the refusal. */
const tools: readonly (readonly [readonly JsonObject[], Profile, string])[] = [
  [[{ type: 'web_search' }, { type: 'code_interpreter', container: auto }, { type: 'image_generation' }], 'openai', ''],
  [[{ type: 'web_search_2025_08_26' }], 'openai', ''],
  [[{ type: 'web_search_preview_2025_03_11' }], 'openai', ''],
  [[{ type: 'web_search' }, { type: 'x_search' }, { type: 'code_interpreter' }, { type: 'code_execution' }], 'xai', ''],
  [
    ['function', 'custom', 'mcp', 'local_shell', 'apply_patch', 'computer', 'computer_use_preview', 'tool_search'].map(
      (type) => ({ type }),
    ),
    'openai',
    '',
  ],
  [[{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }], 'openai', ''],
  [[{ type: 'shell', environment: { type: 'local' } }], 'openai', ''],
  [[{ type: 'image_generation', quality: 'low', size: 'auto' }], 'openai', ''],
  [[{ type: 'code_interpreter', container: { ...auto, memory_limit: '1g' } }], 'openai', ''],
  [
    [{ type: 'namespace', tools: [{ type: 'web_search' }] }],
    'openai',
    '400 unsupported_parameter tools[0].tools[0].type',
  ],
  [[{ type: 'web_search' }, { type: 'web_search' }], 'openai', ''],
  [[{ type: 'web_search' }, { type: 'web_search_preview' }], 'openai', '400 unsupported_parameter tools[1].type'],
  [
    [{ type: 'image_generation' }, { type: 'image_generation', model: 'gpt-image-1' }],
    'openai',
    '400 unsupported_parameter tools[1].type',
  ],
]

t.test('tools of which each can be billed', async (t) => {
  for (const [declared, profile, expected] of tools)
    t.equal(
      refusal(() => sent({ tools: declared }, { profile })),
      expected,
      JSON.stringify(declared),
    )
})

const unpriced: readonly (readonly [JsonObject, Profile])[] = [
  [{ type: 'x_search' }, 'openai'],
  [{ type: 'web_search_preview' }, 'xai'],
  [{ type: 'image_generation' }, 'xai'],
  [{ type: 'image_generation', model: 'gpt-image-2' }, 'openai'],
  [{ type: 'image_generation', quality: 'max' }, 'openai'],
  [{ type: 'image_generation', size: '2048x2048' }, 'openai'],
  [{ type: 'code_interpreter', container: { ...auto, memory_limit: '64g' } }, 'openai'],
  [{ type: 'shell' }, 'openai'],
  [{ type: 'shell', environment: { type: 'container_auto' } }, 'openai'],
  [{ type: 'programmatic_tool_calling' }, 'openai'],
  [{ type: 'something_new' }, 'openai'],
  [{ type: 'toString' }, 'openai'],
]

t.test('a tool without a price is dropped where it is offered, and refused where it is demanded', async (t) => {
  const named = { type: 'function', name: 'f' }
  for (const [tool, profile] of unpriced) {
    const { type } = tool
    const requested = (body: JsonObject) =>
      responsesRequest(targetOf(profile), askedOf({ tools: [named, tool, tool], ...body }))
    for (const tool_choice of [undefined, 'auto', 'none', 'required', named]) {
      const { body, droppedTools } = requested({ tool_choice })
      t.match(asSent(body), { tools: [named], tool_choice })
      t.equal(asSent(body).tools.length, 1)
      t.same(droppedTools, [type])
    }
    const demanding = [{ type }, { type: 'allowed_tools', mode: 'required', tools: [{ type }] }]
    for (const tool_choice of demanding)
      t.equal(
        refusal(() => requested({ tool_choice })),
        '400 unsupported_parameter tools[1].type',
      )
    t.equal(
      refusal(() => requested({ tools: [tool], tool_choice: 'required' })),
      '400 unsupported_parameter tools[0].type',
    )
  }
  t.notOk('droppedTools' in responsesRequest(targetOf(), askedOf({ tools: [named] })))
})

t.test('a choice names no tool that was dropped', async (t) => {
  const named = { type: 'function', name: 'f' }
  const [x, allowed] = [{ type: 'x_search' }, { type: 'allowed_tools', mode: 'auto' }]
  const tools = [named, x]
  t.match(sent({ tools, tool_choice: { ...allowed, tools: [named, x] } }), {
    tool_choice: { ...allowed, tools: [named] },
  })
  t.equal(sent({ tools, tool_choice: { ...allowed, tools: [x] } })['tool_choice'], 'none')
  for (const tool_choice of ['auto', 'none']) {
    const alone = sent({ tools: [x], tool_choice })
    t.notOk('tools' in alone || 'tool_choice' in alone)
  }
})

t.test('a tool that was dropped is not counted', async (t) => {
  const delivered = { texts: ['hi'], reasoningTexts: [], charactersBeyond: 0, characters: 2 }
  const counted = (tools: readonly JsonObject[]) =>
    openaiResponses.countUsage(targetOf(), askedOf({ tools }), delivered)
  const now = { type: 'function', name: 'now' }
  t.strictSame(await counted([now, { type: 'x_search', allowed_x_handles: ['a'] }]), await counted([now]))
})

t.test('a model that no tool is priced for has none', async (t) => {
  const target = targetOf('openai', sheetOf('openai/gpt-4o-audio-preview'))
  const { body, droppedTools } = responsesRequest(target, askedOf({ tools: [{ type: 'web_search' }] }))
  t.notOk('tools' in asSent(body))
  t.same(droppedTools, ['web_search'])
})

t.test('tools in the input cost nothing', async (t) => {
  const item = (type: string) => [{ type: 'additional_tools', tools: [{ type: 'function' }, { type }] }]
  t.equal(
    refusal(() => sent({ input: item('custom') })),
    '',
  )
  t.equal(
    refusal(() => sent({ input: item('web_search') })),
    '400 unsupported_parameter input[0].tools[1].type',
  )
  const listed = [{ type: 'mcp_list_tools', server_label: 's', tools: [{ name: 'f', input_schema: {} }] }]
  t.equal(
    refusal(() => sent({ input: listed })),
    '',
  )
})

const user = (...content: readonly JsonObject[]) => ({ role: 'user', content })

const thought = (more: JsonObject = {}) => ({ type: 'reasoning', id: 'rs_1', summary: [], ...more })
const approval = (id: string) => ({ type: 'mcp_approval_request', id, name: 'f', arguments: '{}', server_label: 's' })
const approved = (approval_request_id: string) => ({
  type: 'mcp_approval_response',
  approval_request_id,
  approve: true,
})

/** Each line: what a request names, and which member is refused. */
const references: readonly (readonly [JsonObject, string])[] = [
  [{ input: 'hi' }, ''],
  [{ input: [user({ type: 'input_file', file_url: 'https://a.example/a.pdf' }), messageOf('x')] }, ''],
  [{ input: [search('ws_1'), codeRun('ci_1', 'cntr_1'), image('ig_1')] }, ''],
  [{ conversation: null, prompt: null }, ''],
  [{ conversation: 'conv_1' }, 'conversation'],
  [{ conversation: { id: 'conv_1' } }, 'conversation'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
  [{ input: [user(), { type: 'item_reference', id: 'msg_1' }] }, 'input[1]'],
  [{ input: [{ id: 'msg_1' }] }, 'input[0]'],
  [{ input: [{ type: null, id: 'msg_1' }] }, 'input[0]'],
  [{ input: [user({ type: 'input_text' }, { type: 'input_file', file_id: 'file_1' })] }, 'input[0].content[1].file_id'],
  [
    { input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', file_id: 'f' }] }] },
    'input[0].output[0].file_id',
  ],
  [
    { input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', file_id: 'f' } }] },
    'input[0].output.file_id',
  ],
  [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0].type'],
  [{ tools: [{ type: 'collections_search' }] }, 'tools[0].type'],
  [{ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'tools[0].container'],
  [{ tools: [{ type: 'code_interpreter', container: { ...auto, file_ids: ['f'] } }] }, 'tools[0].container.file_ids'],
  [{ tools: [{ type: 'code_interpreter', container: { ...auto, file_ids: [] } }] }, ''],
  [{ tools: [{ type: 'mcp', tunnel_id: 'tunnel_1' }] }, 'tools[0].tunnel_id'],
  [{ tools: [{ type: 'image_generation', input_image_mask: { file_id: 'f' } }] }, 'tools[0].input_image_mask.file_id'],
  [{ input: [image('ig_1', { result: null })] }, 'input[0]'],
  [{ input: [{ type: 'image_generation_call', id: 'ig_1' }] }, 'input[0]'],
  [{ input: [thought({ encrypted_content: 'gAAA' })] }, ''],
  [{ input: [thought({ summary: [{ type: 'summary_text', text: 'So.' }] })] }, ''],
  [{ input: [thought({ content: [{ type: 'reasoning_text', text: 'So.' }] })] }, ''],
  [{ input: [thought()] }, 'input[0]'],
  [{ input: [thought({ encrypted_content: null, content: [], status: 'completed' })] }, 'input[0]'],
  [{ input: [{ type: 'reasoning', summary: [] }] }, ''],
  [{ input: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }] }, ''],
  [{ input: [{ type: 'compaction', id: 'cmp_1' }] }, 'input[0]'],
  [{ input: [{ ...codeRun('ci_1', 'cntr_1'), code: null }] }, 'input[0].container_id'],
  [
    { input: [{ type: 'shell_call', call_id: 'c', environment: { type: 'container_reference', container_id: 'x' } }] },
    'input[0].environment.container_id',
  ],
  [
    { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp', tunnel_id: 't' }] }] },
    'tools[0].tools[0].tunnel_id',
  ],
  [
    { input: [{ type: 'additional_tools', tools: [{ type: 'custom' }, { type: 'mcp', tunnel_id: 't' }] }] },
    'input[0].tools[1].tunnel_id',
  ],
  [
    {
      input: [{ type: 'tool_search_output', tools: [{ type: 'namespace', tools: [{ type: 'mcp', tunnel_id: 't' }] }] }],
    },
    'input[0].tools[0].tools[0].tunnel_id',
  ],
  [{ input: [approval('mcpr_1'), approved('mcpr_1')] }, ''],
  [{ input: [approved('mcpr_1')], previous_response_id: 'resp_1' }, ''],
  [{ input: [approved('mcpr_1')] }, 'input[0].approval_request_id'],
]

t.test('what stands in the account of the gateway is nobody else’s', async (t) => {
  for (const [body, param] of references) {
    const expected = param === '' ? '' : `400 unsupported_parameter ${param}`
    t.equal(
      refusal(() => referencedResponseOf(askedOf(body).body)),
      expected,
      JSON.stringify(body),
    )
    if (param !== '')
      t.equal(
        refusal(() => sent(body)),
        expected,
        `${JSON.stringify(body)} goes nowhere`,
      )
  }
})

t.test('items that hold what they stand for go on without the ids of the account', async (t) => {
  const input = [
    { role: 'user', content: 'Hi', id: 'msg_0' },
    thought({ encrypted_content: 'gAAA', status: null }),
    { ...messageOf('Hello'), id: 'msg_1' },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' },
    { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'sunny' },
    search('ws_1'),
  ]
  t.strictSame(
    sent({ input })['input'],
    input.map(({ id: _gone, ...item }: JsonObject) => item),
  )
  t.equal(sent({ input: 'Hi' })['input'], 'Hi')
})

t.test('an id that a type demands becomes one that the account does not have', async (t) => {
  const listed = { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] }
  const input = [image('ig_1'), listed, approval('mcpr_1'), approved('mcpr_1')]
  const [picture, list, asked, answer] = sent({ input })['input'] as readonly JsonObject[]
  t.match(picture, { id: /^ig_[0-9a-f]{48}$/, result: String, status: 'completed' })
  t.match(list, { id: /^mcpl_[0-9a-f]{48}$/ })
  t.match(asked, { id: /^mcpr_[0-9a-f]{48}$/ })
  t.equal(answer?.['approval_request_id'], asked?.['id'], 'an approval still finds its request')
  t.strictSame(sent({ input })['input'], sent({ input })['input'], 'the same every time: caches depend on it')
  const call = { type: 'mcp_call', id: 'mcp_1', name: 'f', approval_request_id: 'mcpr_1' }
  const [, followed] = sent({ input: [approval('mcpr_1'), call] })['input'] as readonly JsonObject[]
  t.equal(followed?.['approval_request_id'], asked?.['id'])
  t.match(sent({ input: [call] })['input'], [{ id: /^mcp_[0-9a-f]{48}$/, approval_request_id: null }])
  const later = { input: [approved('mcpr_1')], previous_response_id: 'resp_1' }
  t.strictSame(sent(later)['input'], later.input)
})

t.test('a run in a container is told without the container', async (t) => {
  const outputs = [{ type: 'logs', logs: '42' }]
  const input = [{ ...codeRun('ci_1', 'cntr_1'), outputs }, codeRun('ci_2', 'cntr_1')]
  const says = (text: string) => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  })
  t.strictSame(sent({ input })['input'], [
    says('Ran this code:\nprint(1)\nIt wrote:\n42'),
    says('Ran this code:\nprint(1)'),
  ])
  const { container_id: _none, ...bare } = codeRun('ci_1', '')
  t.match(sent({ input: [bare] }, { profile: 'xai' })['input'], [{ type: 'code_interpreter_call', code: 'print(1)' }])
})

t.test('cited and found files lose their ids', async (t) => {
  const link = { type: 'url_citation', url: 'https://a.example/' }
  const annotations = [link, { type: 'container_file_citation', container_id: 'cntr_1', file_id: 'cfile_1' }]
  const answer = { ...messageOf('hi'), content: [{ type: 'output_text', text: 'hi', annotations }] }
  const found = { ...fileSearch('fs_1'), results: [{ file_id: 'file_1', text: 'Words.' }] }
  t.match(sent({ input: [answer, found] })['input'], [
    { content: [{ text: 'hi', annotations: [link] }] },
    { results: [{ text: 'Words.' }] },
  ])
  t.notMatch(JSON.stringify(sent({ input: [answer, found] })), /cntr_1|file_1/)
})

t.test('an answer to go on from', async (t) => {
  t.equal(referencedResponseOf({ previous_response_id: 'resp_1' }), 'resp_1')
  t.equal(referencedResponseOf({ previous_response_id: null }), null)
  t.equal(referencedResponseOf({}), null)
})

t.test('the most calls that a request can make', async (t) => {
  const most = (body: JsonObject) => toolCallsMaxOf(body, true)
  const declared = [{ type: 'web_search' }, { type: 'function' }, { type: 'code_interpreter', container: auto }]
  t.strictSame(most({ tools: declared }), {
    web_search: sharedLimits.webSearchesMax,
    code_interpreter: providerLimits.codeRunsMax,
  })
  t.strictSame(most({ tools: [{ type: 'web_search_preview' }], max_tool_calls: 3 }), { web_search_preview: 3 })
  t.strictSame(most({ tools: [{ type: 'x_search' }] }), { x_search: providerLimits.xSearchesMax })
  t.strictSame(most({ input: [user({ type: 'input_file', file_url: 'u' })] }), {
    document_search: providerLimits.fileSearchesMax,
  })
  t.strictSame(most({ tools: null }), {})
})

t.test('a bound that the provider may not obey lowers nothing', async (t) => {
  const tools = [{ type: 'web_search' }, { type: 'x_search' }]
  t.strictSame(toolCallsMaxOf({ tools, max_tool_calls: 2 }, true), { web_search: 2, x_search: 2 })
  t.strictSame(toolCallsMaxOf({ tools, max_tool_calls: 2 }, false), {
    web_search: sharedLimits.webSearchesMax,
    x_search: providerLimits.xSearchesMax,
  })
  t.strictSame(toolCallsMaxOf({ tools, max_tool_calls: 99 }, false), { web_search: 99, x_search: 99 })
})

t.test('a request has a bounded number of tools that its provider runs', async (t) => {
  const tools = (count: number) => ({ tools: Array.from({ length: count }, () => ({ type: 'image_generation' })) })
  const { billedToolsMax } = providerLimits
  t.ok(toolCallsMaxOf(tools(billedToolsMax), true))
  t.throws(() => toolCallsMaxOf(tools(billedToolsMax + 1), true), { code: 'invalid_value', param: 'tools' })
})

t.test('xAI searches attached files, at a price', async (t) => {
  const body = { input: [user({ type: 'input_file', file_url: 'u' })] }
  t.equal(
    refusal(() => sent(body, { profile: 'xai' })),
    '',
  )
  const unpriced = targetOf('xai', { ...sheetOf('grok/grok-4.7'), per_call: {} })
  t.equal(
    refusal(() => responsesRequest(unpriced, askedOf(body))),
    '400 unsupported_parameter input',
  )
})
