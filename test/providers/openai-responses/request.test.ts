import t from 'tap'
import { GatewayError } from '../../../src/errors.ts'
import type { JsonObject } from '../../../src/json.ts'
import { limits } from '../../../src/limits.ts'
import { referencedResponseOf } from '../../../src/providers/openai-responses/references.ts'
import { responsesRequest } from '../../../src/providers/openai-responses/request.ts'
import { toolCallsMaxOf } from '../../../src/providers/openai-responses/tools.ts'
import type { Profile } from '../../../src/providers/provider.ts'
import { askedOf, codeRun, image, messageOf, search, sheetOf, targetOf } from './fixtures.ts'

const sent = (body: JsonObject, options: { cap?: number; profile?: Profile } = {}): JsonObject =>
  JSON.parse(responsesRequest(targetOf(options.profile), askedOf(body, false, options.cap ?? null)).body) as JsonObject

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (fault) {
    if (fault instanceof GatewayError) return `${fault.status} ${fault.code} ${fault.param}`
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
  t.equal(JSON.parse(streamed.body).stream, true)
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

t.test('service tiers that are not priced are dropped', async (t) => {
  for (const tier of ['auto', 'default']) t.equal(sent({ service_tier: tier })['service_tier'], tier)
  for (const tier of ['flex', 'priority', null, 1]) t.notOk('service_tier' in sent({ service_tier: tier }))
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

t.test('Gemini has no such surface', async (t) => {
  t.equal(
    refusal(() => responsesRequest(targetOf('gemini'), askedOf())),
    '501 not_implemented null',
  )
})

t.test('an image has a model and no previews', async (t) => {
  const tools = (tool: JsonObject) => sent({ tools: [{ type: 'image_generation', ...tool }] })['tools']
  t.strictSame(tools({ partial_images: 3, quality: 'low' }), [
    { type: 'image_generation', quality: 'low', model: 'gpt-image-1.5' },
  ])
  t.strictSame(tools({ model: 'gpt-image-1-mini' }), [{ type: 'image_generation', model: 'gpt-image-1-mini' }])
})

const auto = { type: 'auto' }

/** Each line: the tools, whose upstream, and what is said of them. */
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
  [[{ type: 'function' }, { type: 'x_search' }], 'openai', '400 unsupported_parameter tools[1].type'],
  [[{ type: 'web_search_preview' }], 'xai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'image_generation' }], 'xai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'image_generation', model: 'gpt-image-2' }], 'openai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'image_generation', quality: 'max' }], 'openai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'image_generation', size: '2048x2048' }], 'openai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'image_generation', quality: 'low', size: 'auto' }], 'openai', ''],
  [[{ type: 'code_interpreter', container: { ...auto, memory_limit: '1g' } }], 'openai', ''],
  [
    [{ type: 'code_interpreter', container: { ...auto, memory_limit: '64g' } }],
    'openai',
    '400 unsupported_parameter tools[0].type',
  ],
  [[{ type: 'shell' }], 'openai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'shell', environment: { type: 'container_auto' } }], 'openai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'programmatic_tool_calling' }], 'openai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'something_new' }], 'openai', '400 unsupported_parameter tools[0].type'],
  [[{ type: 'toString' }], 'openai', '400 unsupported_parameter tools[0].type'],
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

t.test('a tool without a price is refused', async (t) => {
  for (const [declared, profile, expected] of tools)
    t.equal(
      refusal(() => sent({ tools: declared }, { profile })),
      expected,
      JSON.stringify(declared),
    )
})

t.test('a model that no tool is priced for has none', async (t) => {
  const target = targetOf('openai', sheetOf('openai/gpt-4o-audio-preview'))
  const asked = askedOf({ tools: [{ type: 'web_search' }] })
  t.equal(
    refusal(() => responsesRequest(target, asked)),
    '400 unsupported_parameter tools[0].type',
  )
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

t.test('an answer to go on from', async (t) => {
  t.equal(referencedResponseOf({ previous_response_id: 'resp_1' }), 'resp_1')
  t.equal(referencedResponseOf({ previous_response_id: null }), null)
  t.equal(referencedResponseOf({}), null)
})

t.test('the most calls that a request can make', async (t) => {
  const declared = [
    { type: 'web_search' },
    { type: 'function' },
    { type: 'code_interpreter', container: auto },
    { type: 'image_generation', model: 'gpt-image-1', quality: 'low' },
  ]
  t.strictSame(toolCallsMaxOf({ tools: declared }), {
    web_search: limits.webSearchesMax,
    code_interpreter: limits.codeRunsMax,
    'image_generation_gpt-image-1_low_1024x1536': limits.generatedImagesMax,
  })
  t.strictSame(
    toolCallsMaxOf({ tools: [{ type: 'image_generation' }, { type: 'web_search_preview' }], max_tool_calls: 3 }),
    {
      'image_generation_gpt-image-1.5_high_1024x1536': 3,
      web_search_preview: 3,
    },
  )
  t.strictSame(toolCallsMaxOf({ tools: [{ type: 'x_search' }] }), { x_search: limits.xSearchesMax })
  t.strictSame(toolCallsMaxOf({ input: [user({ type: 'input_file', file_url: 'u' })] }), {
    document_search: limits.fileSearchesMax,
  })
  t.strictSame(toolCallsMaxOf({ tools: null }), {})
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
