import t from 'tap'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'
import { readResponsesAnswer } from '../../../src/providers/openai-responses/dialect.ts'
import { countToolCalls, ToolTally } from '../../../src/providers/openai-responses/tool-calls.ts'
import { problemsOfResponse } from '../../reference/responses-contract.ts'
import {
  askedOf,
  codeRun,
  fileSearch,
  image,
  messageOf,
  responseOf,
  search,
  sheetOf,
  targetOf,
  usageOf,
} from './fixtures.ts'

type Calls = { readonly [name: string]: number }

const webSearch = { type: 'web_search' }
const preview = { type: 'web_search_preview' }
const code = { type: 'code_interpreter', container: { type: 'auto' } }
const images = (more: JsonObject = {}) => ({ type: 'image_generation', model: 'gpt-image-1', ...more })

/** What is declared, what the answer holds, and what of it is billed. */
const table: readonly (readonly [string, readonly JsonObject[], readonly JsonObject[], Calls])[] = [
  ['no tool', [], [messageOf('hi')], {}],
  ['a search', [webSearch], [search('ws_1'), messageOf('hi')], { web_search: 1 }],
  ['searches', [webSearch], [search('ws_1'), search('ws_2'), search('ws_3')], { web_search: 3 }],
  [
    'to read a page is no search',
    [webSearch],
    [search('ws_1'), search('ws_2', 'open_page'), search('ws_3', 'find_in_page')],
    { web_search: 1 },
  ],
  [
    'a failed search is free',
    [webSearch],
    [search('ws_1', 'search', 'failed'), search('ws_2', 'search', 'searching')],
    {},
  ],
  ['the declared tool decides', [preview], [search('ws_1')], { web_search_preview: 1 }],
  ['dated names', [{ type: 'web_search_preview_2025_03_11' }], [search('ws_1')], { web_search_preview: 1 }],
  ['dated names', [{ type: 'web_search_2025_08_26' }], [search('ws_1')], { web_search: 1 }],
  ['file searches', [], [fileSearch('fs_1'), fileSearch('fs_2')], { file_search: 2 }],
  ['runs in one container', [code], [codeRun('ci_1', 'cntr_1'), codeRun('ci_2', 'cntr_1')], { code_interpreter: 1 }],
  ['two containers', [code], [codeRun('ci_1', 'cntr_1'), codeRun('ci_2', 'cntr_2', 'failed')], { code_interpreter: 2 }],
  [
    'an image by what it turned out to be',
    [images()],
    [image('ig_1', { quality: 'high', size: '1024x1536' }), image('ig_2', { quality: 'low', size: '1024x1024' })],
    { 'image_generation_gpt-image-1_high_1024x1536': 1, 'image_generation_gpt-image-1_low_1024x1024': 1 },
  ],
  [
    'an image by what was asked for',
    [images({ quality: 'medium', size: '1536x1024' })],
    [image('ig_1')],
    { 'image_generation_gpt-image-1_medium_1536x1024': 1 },
  ],
  ['the dearest image', [images()], [image('ig_1')], { 'image_generation_gpt-image-1_high_1024x1536': 1 }],
  [
    'the dearest of a size',
    [images({ quality: 'auto' })],
    [image('ig_1', { size: '1024x1024', quality: 'auto' })],
    { 'image_generation_gpt-image-1_high_1024x1024': 1 },
  ],
  [
    'an image of a model that was not named',
    [{ type: 'image_generation' }],
    [image('ig_1', { quality: 'low', size: '1024x1024' })],
    { 'image_generation_gpt-image-1.5_low_1024x1024': 1 },
  ],
  ['an image that failed', [images()], [image('ig_1', { status: 'failed', result: null })], {}],
  [
    'an image is there before its status says so',
    [images({ quality: 'low', size: '1024x1024' })],
    [image('ig_1', { status: 'generating' })],
    { 'image_generation_gpt-image-1_low_1024x1024': 1 },
  ],
]

t.test('the calls of each tool', async (t) => {
  for (const [name, tools, output, expected] of table) {
    t.strictSame(countToolCalls({ tools }, output), expected, name)
    t.strictSame(problemsOfResponse(responseOf(output)), [], `${name}: what OpenAI sends`)
  }
})

t.test('an older search tells no action', async (t) => {
  t.strictSame(countToolCalls({ tools: [preview] }, [{ type: 'web_search_call', id: 'ws', status: 'completed' }]), {
    web_search_preview: 1,
  })
})

t.test('what is no item is no call', async (t) => {
  for (const output of [null, 'x', [null, 1, 'web_search_call', {}, { type: 'toString' }, { type: '__proto__' }]])
    t.strictSame(countToolCalls({ tools: [webSearch] }, output), {})
})

t.test('a tool that was not declared is not free', async (t) => {
  t.strictSame(
    countToolCalls({}, [search('ws'), codeRun('ci', 'c'), image('ig'), { type: 'x_search_call', status: 'completed' }]),
    {
      web_search: 1,
      code_interpreter: 1,
      'image_generation_gpt-image-1.5_high_1024x1536': 1,
      x_search: 1,
    },
  )
})

t.test('the images of the input are read as far as they count, for a tool that makes images', async (t) => {
  let reads = 0
  const item = {
    get type() {
      reads += 1
      return 'image_generation_call'
    },
  }
  const input = Array.from({ length: 1_000 }, () => item)
  ToolTally.of({ tools: [code], input })
  t.equal(reads, 0)
  ToolTally.of({ tools: [images()], input })
  t.equal(reads, providerLimits.imageToolImagesMax)
})

t.test('many containers are counted in bounded memory', async (t) => {
  const tally = ToolTally.of({ tools: [code] })
  for (let at = 0; at < 10_000; at += 1) tally.add(codeRun(`ci_${at}`, `cntr_${at}`))
  t.strictSame(tally.calls, { code_interpreter: 10_000 })
})

const read = (profile: Profile, model: string, tools: readonly JsonObject[], response: JsonObject) => {
  const target = targetOf(profile, sheetOf(model))
  const answer = readResponsesAnswer(target, askedOf({ tools }), Buffer.from(JSON.stringify(response)))
  if ('fault' in answer || answer.reportedUsage === null) throw new Error('no usage')
  return chargeFor(target.sheet, answer.reportedUsage)
}

const linesOf = (charge: ReturnType<typeof read>): readonly string[] =>
  charge.lines.map(({ item, quantity, unitPrice, amount }) => `${quantity} ${item} à ${unitPrice} = ${amount}`)

t.test('charges, worked out by hand', async (t) => {
  // gpt-5: 1.25 in, 0.125 cached, 10 out. 1000 - 400 = 600 fresh; 300 - 200 = 100 said.
  const charge = read(
    'openai',
    'openai/gpt-5',
    [webSearch, code, images()],
    responseOf(
      [
        search('ws_1'),
        search('ws_2'),
        search('ws_3', 'open_page'),
        codeRun('ci_1', 'cntr_1'),
        codeRun('ci_2', 'cntr_1'),
        image('ig_1', { quality: 'high', size: '1024x1536' }),
        messageOf('hi'),
      ],
      { usage: usageOf(1000, 300, 400, 200) },
    ),
  )
  t.strictSame(linesOf(charge), [
    '600 input à 0.00000125 = 0.00075',
    '400 cached_input à 0.000000125 = 0.00005',
    '100 output à 0.00001 = 0.001',
    '200 reasoning à 0.00001 = 0.002',
    '2 web_search à 0.01 = 0.02',
    '1 code_interpreter à 0.03 = 0.03',
    '1 image_generation_gpt-image-1_high_1024x1536 à 0.25 = 0.25',
  ])
  t.equal(charge.totalPicos, 303_800_000_000n) // 0.00075 + 0.00005 + 0.001 + 0.002 + 0.02 + 0.03 + 0.25
})

t.test('a search costs what the declared tool and the model make it', async (t) => {
  const cost = (model: string, tool: JsonObject) =>
    read('openai', model, [tool], responseOf([search('ws_1')], { usage: usageOf(0, 0) })).totalPicos
  t.equal(cost('openai/gpt-5', webSearch), 10_000_000_000n)
  t.equal(cost('openai/gpt-5', preview), 10_000_000_000n)
  t.equal(cost('openai/gpt-4.1', webSearch), 10_000_000_000n)
  t.equal(cost('openai/gpt-4.1', preview), 25_000_000_000n)
  t.equal(cost('openai/gpt-4o-mini', preview), 25_000_000_000n)
})

t.test('xAI counts for itself, only what succeeded', async (t) => {
  const usage = {
    input_tokens: 7583,
    input_tokens_details: { cached_tokens: 3072 },
    output_tokens: 1079,
    output_tokens_details: { reasoning_tokens: 863 },
    total_tokens: 8662,
    num_server_side_tools_used: 6,
    server_side_tool_usage_details: {
      web_search_calls: 1,
      x_search_calls: 3,
      code_interpreter_calls: 0,
      file_search_calls: 0,
      mcp_calls: 4,
      document_search_calls: 2,
      image_generation_calls: 0,
    },
  }
  const output = [
    search('ws_1'),
    search('ws_2'),
    { type: 'custom_tool_call', name: 'x_keyword_search', status: 'completed' },
  ]
  const charge = read('xai', 'grok/grok-4.7', [webSearch, { type: 'x_search' }], responseOf(output, { usage }))
  t.strictSame(linesOf(charge), [
    '4511 input à 0.000002 = 0.009022',
    '3072 cached_input à 0.0000005 = 0.001536',
    '216 output à 0.000006 = 0.001296',
    '863 reasoning à 0.000006 = 0.005178',
    '1 web_search à 0.005 = 0.005',
    '3 x_search à 0.005 = 0.015',
    '2 document_search à 0.01 = 0.02',
  ])
  const { server_side_tool_usage_details: _untold, ...silent } = usage
  const seen = read('xai', 'grok/grok-4.7', [webSearch, { type: 'x_search' }], responseOf(output, { usage: silent }))
  t.strictSame(linesOf(seen).slice(-2), ['2 web_search à 0.005 = 0.01', '1 x_search à 0.005 = 0.005'])
})
