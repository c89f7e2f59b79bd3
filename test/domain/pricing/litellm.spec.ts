import t from 'tap'
import { type ImportedPrice, readLiteLlm } from '../../../src/domain/pricing/litellm.ts'
import { type PriceBook, publishPrice } from '../../../src/domain/pricing/price-book.ts'
import { problemsOfPriceFile } from '../../../src/domain/pricing/price-file.ts'
import { diffPrices } from '../../../src/domain/pricing/price-import.ts'
import { getValidator } from '../../../src/encoding/schema-validation.ts'
import type { PriceSheet } from '../../../src/events/types.ts'

const providers = new Set(['openai', 'anthropic', 'google', 'grok'])
const chat = { litellm_provider: 'openai', mode: 'chat', max_output_tokens: 100, max_input_tokens: 1_000 }
const plain = { ...chat, input_cost_per_token: 1.5e-7, output_cost_per_token: 6e-7 }

const scope = { providers, allowFree: false }
const read = (entry: object, name = 'gpt-4o-mini'): ImportedPrice => readLiteLlm({ [name]: entry }, scope)[0]!
const sheetIn = (imported: ImportedPrice): PriceSheet => {
  if (!('sheet' in imported)) throw new Error(JSON.stringify(imported.unsupported))
  return imported.sheet
}
const reasons = (imported: ImportedPrice): readonly string[] =>
  'unsupported' in imported ? imported.unsupported.map(({ field, reason }) => `${field}: ${reason}`) : []

t.test('a price for a token becomes one for a million, exactly', async (t) => {
  const rows: readonly (readonly [perToken: number, perMillion: string])[] = [
    [1.5e-7, '0.15'],
    [0.00001, '10'],
    [2.5e-6, '2.5'],
    [0, '0'],
    [1e-12, '0.000001'],
    [3.125e-8, '0.03125'],
    [0.0001234, '123.4'],
  ]
  for (const [perToken, perMillion] of rows)
    t.equal(sheetIn(read({ ...plain, input_cost_per_token: perToken })).per_million_tokens.input, perMillion)
  for (const wrong of [1e308, 1e9, 1e-19, 4e-13, 3.0000000000000004e-7, -1, '1e-6', null, {}])
    t.match(reasons(read({ ...plain, input_cost_per_token: wrong })), [/input_cost_per_token/], String(wrong))
})

t.test('a model is named as its provider is here', async (t) => {
  const rows: readonly (readonly [name: string, provider: string, model: string | null])[] = [
    ['gpt-4o-mini', 'openai', 'openai/gpt-4o-mini'],
    ['openai/gpt-4o-mini', 'openai', 'openai/gpt-4o-mini'],
    ['gemini/gemini-2.5-flash', 'gemini', 'google/gemini-2.5-flash'],
    ['xai/grok-4', 'xai', 'grok/grok-4'],
    ['claude-opus-5', 'anthropic', 'anthropic/claude-opus-5'],
    ['bedrock/claude', 'bedrock', null],
  ]
  for (const [name, litellm_provider, model] of rows) t.equal(read({ ...plain, litellm_provider }, name).model, model)
  const own = readLiteLlm(
    { 'xai/grok-4': { ...plain, litellm_provider: 'xai' } },
    { providers: new Set(['xai', 'grok']), allowFree: false },
  )
  t.match(own, [{ model: 'xai/grok-4' }], 'a provider of that very name comes first')
  const clouds: readonly (readonly [name: string, provider: string, model: string])[] = [
    ['azure/gpt-5-mini', 'azure', 'azure/gpt-5-mini'],
    ['eu.amazon.nova-lite-v1:0', 'bedrock_converse', 'bedrock/eu.amazon.nova-lite-v1:0'],
    ['gemini-2.5-flash', 'vertex_ai-language-models', 'vertex/gemini-2.5-flash'],
    ['vertex_ai/gemini-3.7-flash', 'vertex_ai', 'vertex/gemini-3.7-flash'],
    ['vertex_ai/claude-opus-5', 'vertex_ai-anthropic_models', 'vertex/claude-opus-5'],
  ]
  const cloudScope = { providers: new Set(['azure', 'bedrock', 'vertex']), allowFree: false }
  for (const [name, litellm_provider, model] of clouds)
    t.match(readLiteLlm({ [name]: { ...plain, litellm_provider } }, cloudScope), [{ model }])
})

t.test('everything that can be expressed is', async (t) => {
  const imported = read({
    ...plain,
    cache_read_input_token_cost: 7.5e-8,
    cache_creation_input_token_cost: 2e-7,
    cache_creation_input_token_cost_above_1hr: 3e-7,
    cache_creation_input_token_cost_above_12hr: 4e-7,
    cache_read_input_audio_token_cost: 2e-5,
    cache_read_input_image_token_cost: 5e-6,
    input_cost_per_audio_token: 4e-5,
    output_cost_per_audio_token: 8e-5,
    output_cost_per_reasoning_token: 7e-7,
    input_cost_per_image_token: 1e-5,
    output_cost_per_image_token: 4e-5,
    search_context_cost_per_query: {
      search_context_size_low: 0.01,
      search_context_size_medium: 0.01,
      search_context_size_high: 0.01,
    },
    code_interpreter_cost_per_session: 0.03,
    file_search_cost_per_1k_calls: 2.5,
    input_cost_per_request: 0,
    supports_vision: true,
    supports_reasoning: true,
  })
  t.same(imported, {
    name: 'gpt-4o-mini',
    model: 'openai/gpt-4o-mini',
    sheet: {
      currency: 'USD',
      per_million_tokens: {
        input: '0.15',
        output: '0.6',
        cached_input: '0.075',
        cache_write_5m: '0.2',
        cache_write_1h: '0.3',
        cache_write_12h: '0.4',
        cached_audio_input: '20',
        cached_image_input: '5',
        audio_input: '40',
        audio_output: '80',
        reasoning: '0.7',
        image_input: '10',
        image_output: '40',
      },
      per_call: { web_search_preview: '0.01', web_search: '0.01', code_interpreter: '0.03', file_search: '0.0025' },
      max_output_tokens: 100,
    },
    leftOut: [],
  })
})

t.test('long prompts are tiers, which price all that short ones do', async (t) => {
  const tiered = {
    ...plain,
    cache_read_input_token_cost: 7.5e-8,
    input_cost_per_token_above_200k_tokens: 3e-7,
    output_cost_per_token_above_200k_tokens: 1.2e-6,
    cache_read_input_token_cost_above_200k_tokens: 1.5e-7,
  }
  t.same(sheetIn(read(tiered)).tiers, [
    { prompt_tokens_above: 200_000, per_million_tokens: { input: '0.3', output: '1.2', cached_input: '0.15' } },
  ])
  const { cache_read_input_token_cost_above_200k_tokens: _, ...gap } = tiered
  t.match(reasons(read(gap)), [/^cached_input above 200000 tokens: is missing/])
})

t.test('a write to the cache that costs less than the input it is has no price of its own', async (t) => {
  const imported = read({
    ...plain,
    cache_creation_input_token_cost: 0,
    cache_read_input_token_cost: 7.5e-8,
    input_cost_per_token_above_200k_tokens: 3e-7,
    output_cost_per_token_above_200k_tokens: 1.2e-6,
    cache_read_input_token_cost_above_200k_tokens: 1.5e-7,
    cache_creation_input_token_cost_above_200k_tokens: 1.5e-7,
  })
  t.same(sheetIn(imported).per_million_tokens, { input: '0.15', output: '0.6', cached_input: '0.075' })
  t.same(sheetIn(imported).tiers, [
    { prompt_tokens_above: 200_000, per_million_tokens: { input: '0.3', output: '1.2', cached_input: '0.15' } },
  ])
  t.same('leftOut' in imported && imported.leftOut.map(({ field }) => field), [
    'cache_write_5m',
    'cache_write_5m above 200000 tokens',
  ])
})

t.test('the upper rates of xAI begin at the length itself', async (t) => {
  const tiered = {
    ...plain,
    litellm_provider: 'xai',
    input_cost_per_image_token: plain.input_cost_per_token,
    input_cost_per_token_above_200k_tokens: 3e-7,
    output_cost_per_token_above_200k_tokens: 1.2e-6,
  }
  const { tiers, per_million_tokens } = sheetIn(read(tiered, 'xai/grok-4.3'))
  t.same(tiers, [{ prompt_tokens_above: 199_999, per_million_tokens: { input: '0.3', output: '1.2' } }])
  t.same(per_million_tokens, { input: '0.15', output: '0.6' }, 'a rate that is that of its kind is none of its own')
  t.match(reasons(read({ ...tiered, input_cost_per_image_token: 1e-7 }, 'xai/grok-4.3')), [/^image_input above 199999/])
})

t.test('service tiers are prices of their own, or left out where they leave something unpriced', async (t) => {
  const served = (tier: string) => ({
    [`input_cost_per_token_${tier}`]: 1e-7,
    [`output_cost_per_token_${tier}`]: 3e-7,
    [`cache_creation_input_token_cost_above_12hr_${tier}`]: 2e-7,
    [`input_cost_per_token_above_272k_tokens_${tier}`]: 2e-7,
    [`output_cost_per_token_above_272k_tokens_${tier}`]: 6e-7,
    [`cache_creation_input_token_cost_above_12hr_above_272k_tokens_${tier}`]: 4e-7,
  })
  const entry = {
    ...plain,
    cache_creation_input_token_cost_above_12hr: 3e-7,
    input_cost_per_token_above_272k_tokens: 3e-7,
    output_cost_per_token_above_272k_tokens: 9e-7,
    cache_creation_input_token_cost_above_12hr_above_272k_tokens: 6e-7,
    ...Object.assign({}, ...['flex', 'priority', 'batches', 'ultrafast'].map(served)),
  }
  const expected = {
    per_million_tokens: { input: '0.1', output: '0.3', cache_write_12h: '0.2' },
    tiers: [
      { prompt_tokens_above: 272_000, per_million_tokens: { input: '0.2', output: '0.6', cache_write_12h: '0.4' } },
    ],
  }
  t.same(sheetIn(read(entry)).service_tiers, {
    flex: expected,
    priority: expected,
    batch: expected,
    ultrafast: expected,
  })
  const { output_cost_per_token_above_272k_tokens_flex: _, ...partial } = { ...entry } as Record<string, unknown>
  const imported = read(partial)
  t.same(Object.keys(sheetIn(imported).service_tiers ?? {}), ['priority', 'batch', 'ultrafast'])
  t.same('leftOut' in imported && imported.leftOut, [
    { field: 'service tier flex', reason: 'has no price of output above 272000 tokens' },
  ])
})

t.test('regions multiply', async (t) => {
  const imported = read({ ...plain, provider_specific_entry: { us: 1.1, fast: 2 } })
  t.same(sheetIn(imported).region_multipliers, { us: '1.1' })
  t.match(imported, { leftOut: [{ field: 'provider_specific_entry.fast' }] })
  t.match(reasons(read({ ...plain, provider_specific_entry: { eu: 1.2 } })), [/^provider_specific_entry.eu/])
})

t.test('a search has the price of the tool that it is a figure of', async (t) => {
  const searching = (low: number, high: number, more: object = {}) => ({
    ...plain,
    ...more,
    search_context_cost_per_query: {
      search_context_size_low: low,
      search_context_size_medium: low,
      search_context_size_high: high,
    },
  })
  const perCall = (entry: object, name?: string) => sheetIn(read(entry, name)).per_call
  t.same(perCall(searching(0.025, 0.025)), { web_search_preview: '0.025' })
  t.same(perCall(searching(0.01, 0.01, { supports_reasoning: true })), {
    web_search_preview: '0.01',
    web_search: '0.01',
  })
  t.same(perCall(searching(0.03, 0.05), 'gpt-4o-search-preview'), {
    web_search_low: '0.03',
    web_search_medium: '0.03',
    web_search_high: '0.05',
  })
  t.same(perCall(searching(0.01, 0.01, { litellm_provider: 'anthropic' }), 'claude-opus-5'), { web_search: '0.01' })
})

t.test('a free row is a price only where that is allowed', async (t) => {
  const free = { ...plain, input_cost_per_token: 0, output_cost_per_token: 0 }
  t.match(reasons(read(free)), [/^input_cost_per_token: is 0, and output 0/])
  const [allowed] = readLiteLlm({ 'gpt-4o-mini': free }, { providers, allowFree: true })
  t.same(sheetIn(allowed!).per_million_tokens, { input: '0', output: '0' })
  t.same(sheetIn(read({ ...free, output_cost_per_token: 1e-6 })).per_million_tokens.input, '0')
})

t.test('every price field that is not expressed is named', async (t) => {
  const imported = read({
    ...plain,
    input_cost_per_token_batches: 7e-8,
    output_cost_per_token_decisions: 1e-6,
    regional_processing_uplift_multiplier_eu: 1.1,
    google_maps_grounding_cost_per_query: 0.014,
    search_context_cost_per_query: { search_context_size_low: 0.03, search_context_size_medium: 0.035 },
    a_figure_of_tomorrow: 1,
    rpm: 10,
    supported_regions: ['eu'],
  })
  t.same('leftOut' in imported && imported.leftOut.map(({ field }) => field), [
    'output_cost_per_token_decisions',
    'regional_processing_uplift_multiplier_eu',
    'google_maps_grounding_cost_per_query',
    'search_context_cost_per_query',
    'a_figure_of_tomorrow',
    'service tier batch',
  ])
  t.notOk('per_call' in sheetIn(imported))
})

t.test('a price field that would change the bill, and one that nobody knows, make the entry unsupported', async (t) => {
  for (const [field, value] of [
    ['tiered_pricing', [{ range: [0, 1], input_cost_per_token: 1 }]],
    ['input_cost_per_image', 0.001],
    ['output_cost_per_second', 0.1],
    ['input_cost_per_character', 1e-7],
    ['input_cost_per_audio_token_above_300m_tokens', 1],
    ['a_price_of_tomorrow', 1],
    ['profile_cost_per_token', 1e-6],
    ['research_uplift', { us: 1.1 }],
  ] as const)
    t.same(reasons(read({ ...plain, [field]: value })), [`${field}: cannot be expressed in a sheet`])
})

t.test('a model that embeds has a price of its input alone', async (t) => {
  const large = {
    litellm_provider: 'openai',
    mode: 'embedding',
    max_input_tokens: 8_191,
    output_vector_size: 3_072,
    input_cost_per_token: 1.3e-7,
  }
  const input = { input: '0.13', output: '0' }
  t.same(sheetIn(read(large)), { currency: 'USD', per_million_tokens: input, max_output_tokens: 0 })
  const both = { ...large, output_cost_per_token: 0, input_cost_per_token_batches: 6.5e-8 }
  t.same(sheetIn(read({ ...both, output_cost_per_token_batches: 0 })).service_tiers, {
    batch: { per_million_tokens: { input: '0.065', output: '0' } },
  })
  const multimodal = { ...large, input_cost_per_audio_token: 6.5e-6, input_cost_per_video_token: 1.2e-5 }
  t.match(read(multimodal), {
    sheet: { per_million_tokens: input },
    leftOut: [{ field: 'input_cost_per_audio_token' }, { field: 'input_cost_per_video_token' }],
  })
})

t.test('an entry that is no model that answers here says why', async (t) => {
  t.match(reasons(read({ ...plain, mode: 'rerank' })), [/^mode: "rerank" is not served/])
  t.match(reasons(read({ ...plain, max_output_tokens: undefined })), [/^max_output_tokens: is missing/])
  t.match(reasons(read(chat)), [/^input_cost_per_token: is missing/, /^output_cost_per_token: is missing/])
  t.match(reasons(readLiteLlm({ a: 7 }, scope)[0]!), [/no object/])
  const twice = readLiteLlm({ 'gpt-4o-mini': plain, 'openai/gpt-4o-mini': plain, sample_spec: {} }, scope)
  t.equal(twice.length, 2)
  t.match(reasons(twice[1]!), [/names the same model as gpt-4o-mini/])
})

t.test('the difference from what is in force', async (t) => {
  const prices: PriceBook = new Map()
  const sheet: PriceSheet = {
    currency: 'USD',
    per_million_tokens: { input: '0.15', output: '0.6' },
    per_call: { x_search: '0.005' },
    max_output_tokens: 100,
    context_tokens: 5,
  }
  const publish = (model: string, content: object): void =>
    publishPrice(prices, { model, version: 'v1', effectiveFrom: '2026-01-01T00:00:00Z', source: 's', ...content })
  publish('openai/same', { sheet })
  publish('openai/dearer', { sheet })
  publish('openai/film', { video: { currency: 'USD', unit_price: '1', units_per_second: { std: '1' } } })
  const table = {
    same: plain,
    dearer: { ...plain, output_cost_per_token: 7e-7, cache_read_input_token_cost: 1e-8 },
    fresh: plain,
    film: plain,
    strange: { ...plain, mode: 'rerank' },
  }
  const terms = {
    prices,
    nowMs: Date.parse('2026-06-01T00:00:00Z'),
    effectiveFrom: '2026-06-02T00:00:00Z',
    source: 'LiteLLM',
  }
  const changes = diffPrices(readLiteLlm(table, scope), terms)
  t.match(changes, [
    { name: 'same', change: 'unchanged', entry: null, differences: [] },
    {
      name: 'dearer',
      change: 'changed',
      differences: [
        { item: 'per_million_tokens.output', from: '0.6', to: '0.7' },
        { item: 'per_million_tokens.cached_input', from: null, to: '0.01' },
      ],
      entry: {
        model: 'openai/dearer',
        effective_from: '2026-06-02T00:00:00Z',
        source: 'LiteLLM',
        sheet: { per_call: { x_search: '0.005' }, context_tokens: 5 },
      },
    },
    { name: 'fresh', change: 'added', model: 'openai/fresh' },
    { name: 'film', change: 'unsupported' },
    { name: 'strange', change: 'unsupported', leftOut: [{ field: 'mode' }], entry: null },
  ])
  const file = { prices: changes.flatMap(({ entry }) => entry ?? []) }
  t.same(getValidator('price-file.json', { allErrors: true })(file), [], 'what is published is a price file')
  t.same(problemsOfPriceFile(file), [])
})

t.test('a rate in force that the imported row does not have is kept, unless it is removed', async (t) => {
  const prices: PriceBook = new Map()
  const rates = { input: '0.1', output: '0.6', cached_input: '0.01' }
  const sheet: PriceSheet = {
    currency: 'USD',
    per_million_tokens: rates,
    tiers: [{ prompt_tokens_above: 200_000, per_million_tokens: { ...rates, input: '0.2' } }],
    service_tiers: {
      priority: { per_million_tokens: rates, tiers: [{ prompt_tokens_above: 200_000, per_million_tokens: rates }] },
    },
    max_output_tokens: 100,
  }
  publishPrice(prices, { model: 'openai/a', version: 'v', effectiveFrom: '2026-01-01T00:00:00Z', source: 's', sheet })
  const terms = {
    prices,
    nowMs: Date.parse('2026-06-01T00:00:00Z'),
    effectiveFrom: '2026-06-02T00:00:00Z',
    source: 's',
  }
  const compare = (remove: readonly string[]) => diffPrices(readLiteLlm({ a: plain }, scope), { ...terms, remove })[0]!
  const kept = compare([])
  t.same(kept.differences, [{ item: 'per_million_tokens.input', from: '0.1', to: '0.15' }])
  t.match(kept.kept, [
    { item: 'per_million_tokens.cached_input', rate: '0.01' },
    { item: 'tiers.200000.per_million_tokens.input', rate: '0.2' },
  ])
  t.same(kept.entry?.sheet, { ...sheet, per_million_tokens: { ...rates, input: '0.15' } })
  t.same(problemsOfPriceFile({ prices: [kept.entry!] }), [])
  const removed = compare([
    'openai/a service_tiers.priority',
    'openai/b tiers',
    'openai/a per_million_tokens.cached_input',
  ])
  t.match(removed.entry?.sheet, {
    per_million_tokens: { input: '0.15', cached_input: undefined },
    service_tiers: undefined,
  })
  t.same(removed.entry?.sheet?.tiers, sheet.tiers, 'what another model names is kept')
  t.ok(
    removed.differences.some(
      ({ item, to }) => item === 'service_tiers.priority.per_million_tokens.input' && to === null,
    ),
  )
  t.notOk(removed.kept.some(({ item }) => item.startsWith('service_tiers')))

  const entry = { model: 'openai/a', effective_from: '2026-07-01T00:00:00Z', source: 'file', sheet }
  t.match(diffPrices({ prices: [entry] }, terms), [{ change: 'unchanged', kept: [] }])
  const dearer = { ...entry, sheet: { ...sheet, per_million_tokens: { ...rates, output: '0.7' } } }
  t.match(diffPrices({ prices: [dearer] }, terms), [
    { change: 'changed', differences: [{ item: 'per_million_tokens.output', to: '0.7' }], entry: dearer },
  ])
})
