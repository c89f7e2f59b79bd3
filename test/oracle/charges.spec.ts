import { readFileSync } from 'node:fs'
import t from 'tap'
import { formatUsd } from '../../src/domain/money.ts'
import type { PriceFile } from '../../src/domain/pricing/price-file.ts'
import type { PriceSheet } from '../../src/events/types.ts'
import { chargeCase } from './charges.ts'
import { compareClouds } from './clouds.ts'
import { agreesWithPublished, compareCharge } from './differences.ts'
import { chargedUsages, recordedUsages } from './recorded.ts'
import { createCase, createDraws, type OracleCase, type OracleModel } from './usages.ts'

const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: {
    input: '2',
    cached_input: '0.2',
    cached_audio_input: '0.4',
    cache_write_5m: '2.5',
    cache_write_1h: '4',
    cache_write_12h: '5',
    audio_input: '4',
    output: '10',
    audio_output: '20',
  },
  service_tiers: { flex: { per_million_tokens: { input: '1', output: '5' } } },
  region_multipliers: { us: '1.1' },
  max_output_tokens: 1_000,
}
const models: readonly OracleModel[] = (
  [
    ['openai', 'm'],
    ['anthropic', 'm'],
    ['google', 'm'],
    ['xai', 'm'],
    ['azure', 'm'],
    ['vertex', 'gemini-m'],
    ['vertex', 'vertex_ai/claude-m'],
    ['bedrock', 'us.anthropic.m'],
    ['bedrock', 'amazon.m'],
  ] as const
).map(([provider, name]) => ({ name, provider, sheet, searchUsd: null, searchesByQuery: false }))

t.test('generated usages are read, whole and streamed alike, and none of their tokens is lost', async (t) => {
  const draws = createDraws(1)
  for (let index = 0; index < 1_000; index += 1) {
    const each = createCase(draws, models)
    const { usage } = chargeCase(each)
    const { inputUncached, cacheRead, cacheWrite5m, cacheWrite1h, cacheWrite12h = 0, inputAudio, inputImage } = usage
    const parts = inputUncached + cacheRead + cacheWrite5m + cacheWrite1h + cacheWrite12h + inputAudio + inputImage
    if (parts !== usage.promptTotal) t.fail(JSON.stringify(each))
    if (usage.serviceTier !== (each.tier ?? undefined)) t.fail(`the tier is not read: ${JSON.stringify(each)}`)
  }
})

t.test('recorded usages cost what they did by hand', async (t) => {
  const costs = recordedUsages.map(({ model: name, flavor, usage }) => {
    const provider = flavor === 'messages' ? 'anthropic' : flavor === 'gemini' ? 'google' : 'openai'
    const model: OracleModel = {
      name,
      provider: name.startsWith('xai/') ? 'xai' : provider,
      sheet,
      searchUsd: null,
      searchesByQuery: false,
    }
    return formatUsd(chargeCase({ model, flavor, usage, tier: null, searches: 0, calls: {} }).picos)
  })
  // 3 × 2 + 9511 × 0.2 + 1956 × 2.5 + 44 × 10 = 7238.2 for a million; 13 × 2 + 44 × 10 = 466.
  t.equal(costs[0], '0.0072382')
  t.equal(costs[2], '0.000466')
  // 58 text + 37 audio fresh, 2634 + 284 audio cached, 150 out: 342 × 2 + 37 × 4 + 2634 × 0.2 + 284 × 0.4 + 150 × 10 = 2972.4.
  t.equal(costs[6], '0.0029724')
  // xAI: 12 × 2 + 291 × 10, reasoning beside the completion.
  t.equal(costs[15], '0.002934')
})

t.test('usages of xAI cost what xAI says that it charged', async (t) => {
  const { prices }: PriceFile = JSON.parse(readFileSync(new URL('../../prices.json', import.meta.url), 'utf8'))
  const picosPerTick = 100n
  for (const { model: name, source, usage } of chargedUsages) {
    const published = prices.findLast(({ model }) => model === name)?.sheet
    if (published === undefined) throw new Error(`${name} has no price`)
    const model: OracleModel = { name, provider: 'xai', sheet: published, searchUsd: null, searchesByQuery: false }
    const { picos } = chargeCase({ model, flavor: 'responses', usage, tier: null, searches: 0, calls: {} })
    t.equal(picos, BigInt(usage.cost_in_usd_ticks) * picosPerTick, source)
  }
})

const caseOf = (usage: OracleCase['usage']): OracleCase => ({
  model: models[0]!,
  flavor: 'chat',
  usage,
  tier: null,
  searches: 0,
  calls: {},
})

t.test('a difference is explained only by a charge that is equal without it', async (t) => {
  const each = caseOf({
    prompt_tokens: 100,
    completion_tokens: 0,
    prompt_tokens_details: { cache_write_tokens: 100, cache_write_tokens_details: { ttl_12h_tokens: 100 } },
  })
  const ours = chargeCase(each)
  const causesOf = (answered: Parameters<typeof compareCharge>[3]) =>
    compareCharge(each, ours, 'genai', answered).causes
  t.same(causesOf({ charge: '0.00025' }), ['writes-for-twelve-hours-as-others'])
  t.equal(causesOf({ charge: '0.00026' }), null)
  t.equal(causesOf({ error: 'KeyError: x' }), null)
  const refusal = { error: 'ValueError: Missing usage for cache_audio_read_tokens' }
  t.equal(causesOf(refusal), null, 'there is no audio')
  t.match(compareCharge(each, ours, 'genai', { charge: '0.0005' }), {
    causes: [],
    absent: ['writes-for-twelve-hours-as-others'],
  })
})

t.test('searches are charged whole and streamed alike, and compared with LiteLLM alone', async (t) => {
  const priced = { ...sheet, per_call: { web_search_preview: '0.01' } }
  const usage = { input_tokens: 100, output_tokens: 0 }
  const each: OracleCase = {
    ...caseOf(usage),
    model: { ...models[0]!, sheet: priced },
    flavor: 'responses',
    searches: 2,
  }
  const ours = chargeCase(each)
  t.equal(formatUsd(ours.picos), '0.0202')
  t.same(compareCharge(each, ours, 'litellm', { charge: '0.0202' }).causes, [])
  t.equal(compareCharge(each, ours, 'litellm', { charge: '0.0302' }).causes, null)
  t.same(compareCharge(each, ours, 'genai', { charge: '0.0002' }).causes, [])
})

t.test('searches with Google differ by the price that is not imported, and by what is counted', async (t) => {
  const google: OracleModel = { ...models[2]!, name: 'gemini-exp-1', searchUsd: '0.035' }
  const usage = { promptTokenCount: 100, candidatesTokenCount: 0 }
  const each: OracleCase = { ...caseOf(usage), model: google, flavor: 'gemini', searches: 3 }
  const causesOf = (charge: string) => compareCharge(each, chargeCase(each), 'litellm', { charge }).causes
  t.same(causesOf('0.1052'), ['searches-with-google-not-imported'])
  t.same(causesOf('0.0352'), ['searches-with-google-not-imported', 'searches-by-the-answer'])
})

t.test('calls of other tools cost the published prices, which LiteLLM leaves out', async (t) => {
  const publishedUsd = { file_search: '0.0025', code_interpreter: '0.03', x_search: '0.005' }
  const priced = models.map((model) => ({ ...model, sheet: { ...sheet, per_call: publishedUsd } }))
  const draws = createDraws(1)
  const seen = new Set<string>()
  for (let index = 0; index < 500; index += 1) {
    const each = createCase(draws, priced)
    for (const tool of Object.keys(each.calls)) seen.add(`${each.model.provider} ${tool}`)
    if (!agreesWithPublished(each, chargeCase(each), publishedUsd)) t.fail(JSON.stringify(each))
  }
  t.same([...seen].sort(), [
    'openai code_interpreter',
    'openai file_search',
    'xai code_interpreter',
    'xai file_search',
    'xai x_search',
  ])
  const one: OracleCase = {
    ...caseOf({ input_tokens: 100, output_tokens: 0 }),
    model: priced[0]!,
    flavor: 'responses',
    calls: { file_search: 2, code_interpreter: 1 },
  }
  const ours = chargeCase(one)
  t.equal(formatUsd(ours.picos), '0.0352')
  t.notOk(agreesWithPublished(one, ours, { ...publishedUsd, file_search: '0.003' }))
  t.same(compareCharge(one, ours, 'litellm', { charge: '0.0002' }).causes, ['tools-not-charged'])
  t.equal(compareCharge(one, ours, 'litellm', { charge: '0.0052' }).causes, null)
})

t.test("a cloud's row is the table's, and an announced one its maker's", async (t) => {
  const sheetOf = (input: string): PriceSheet => ({ ...sheet, per_million_tokens: { input, output: '10' } })
  const rowOf = (model: string, from: string, input: string) => ({
    ...{ model, effective_from: `${from}T00:00:00Z`, source: 'a page' },
    sheet: sheetOf(input),
  })
  const present = rowOf('vertex/gemini-m', '2026-01-01', '1')
  const announced = rowOf('vertex/gemini-m', '2027-01-01', '2')
  const table = [{ model: 'vertex/gemini-m', sheet: sheetOf('1') }]
  const differingOf = (...rows: Parameters<typeof compareClouds>[0]) => compareClouds(rows, table).differing
  const maker = rowOf('google/gemini-m', '2027-01-01', '2')
  t.same(differingOf(present, announced, maker), [])
  t.same(differingOf(rowOf('vertex/gemini-m', '2026-01-01', '3')), ['vertex/gemini-m from 2026-01-01T00:00:00Z'])
  const wrong = ['vertex/gemini-m from 2027-01-01T00:00:00Z']
  t.same(differingOf(present, announced), wrong, 'its maker has announced none')
  t.same(differingOf(present, announced, rowOf('google/gemini-m', '2027-01-01', '3')), wrong)
  t.same(differingOf(present, rowOf('azure/m', '2027-01-01', '2')), ['azure/m from 2027-01-01T00:00:00Z'])
})
