import fc from 'fast-check'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { chargeFor, perTokenPicos, ratesFor, unpricedOf } from '../../../src/domain/pricing/charge.ts'
import { affordableOutputTokens, type UsageBounds } from '../../../src/domain/pricing/worst-case.ts'
import { noUsage, type Usage, usageOf } from '../../../src/domain/usage/usage.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import { worstCasePicos } from '../../support/worst-case.ts'

const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: {
    input: '2.5',
    cached_input: '0.25',
    cache_write_5m: '3.125',
    output: '15',
    audio_input: '40',
    audio_output: '80',
  },
  tiers: [{ prompt_tokens_above: 272_000, per_million_tokens: { input: '5', cached_input: '0.5', output: '22.5' } }],
  per_call: { web_search: '0.01' },
  max_output_tokens: 100_000,
}

t.test('a charge is quantity × published price, line by line', async (t) => {
  const usage = usageOf(
    { total: 1_000, cacheRead: 600, cacheWrite5m: 100, audio: 50 },
    { total: 400, reasoning: 300, audio: 20 },
    { web_search: 2 },
  )
  const charge = chargeFor(sheet, usage)
  // By hand: 250 × 2.5 + 600 × 0.25 + 100 × 3.125 + 50 × 40 + 80 × 15 + 300 × 15 + 20 × 80 = 10387.5 per million, and 2 × 0.01.
  t.same(
    charge.lines.map(({ item, quantity, unitPrice, amount }) => [item, quantity, unitPrice, amount]),
    [
      ['input', 250, '0.0000025', '0.000625'],
      ['cached_input', 600, '0.00000025', '0.00015'],
      ['cache_write_5m', 100, '0.000003125', '0.0003125'],
      ['audio_input', 50, '0.00004', '0.002'],
      ['output', 80, '0.000015', '0.0012'],
      ['reasoning', 300, '0.000015', '0.0045'],
      ['audio_output', 20, '0.00008', '0.0016'],
      ['web_search', 2, '0.01', '0.02'],
    ],
  )
  t.equal(formatUsd(charge.totalPicos), '0.0303875')
})

t.test('the whole request takes the rates of the tier that its prompt exceeds', async (t) => {
  t.equal(ratesFor(sheet, 272_000).input, '2.5')
  t.equal(ratesFor(sheet, 272_001).input, '5')
  const above = chargeFor(sheet, usageOf({ total: 300_000, cacheRead: 100_000 }, { total: 10 }))
  t.equal(formatUsd(above.totalPicos), '1.050225')
})

const tiered: PriceSheet = {
  ...sheet,
  per_million_tokens: {
    ...sheet.per_million_tokens,
    cache_write_12h: '6.25',
    cached_audio_input: '4',
    image_input: '10',
    cached_image_input: '2',
  },
  service_tiers: {
    flex: {
      per_million_tokens: { input: '1.25', cached_input: '0.125', output: '7.5' },
      tiers: [
        { prompt_tokens_above: 272_000, per_million_tokens: { input: '2.5', cached_input: '0.25', output: '11.25' } },
      ],
    },
    priority: { per_million_tokens: { input: '5', cached_input: '0.5', output: '30' } },
  },
  region_multipliers: { us: '1.1' },
}

t.test('what the cache holds of audio, of images and for twelve hours are items of their own', async (t) => {
  const usage = usageOf(
    { total: 1_000, cacheRead: 600, cacheReadAudio: 100, cacheReadImage: 200, cacheWrite12h: 50, audio: 40, image: 30 },
    { total: 1 },
  )
  t.match(usage, { inputUncached: 280, cacheRead: 600, cacheReadAudio: 100, cacheReadImage: 200, cacheWrite12h: 50 })
  t.same(
    chargeFor(tiered, usage).lines.map(({ item, quantity, amount }) => [item, quantity, amount]),
    [
      ['input', 280, '0.0007'],
      ['cached_input', 300, '0.000075'],
      ['cached_audio_input', 100, '0.0004'],
      ['cached_image_input', 200, '0.0004'],
      ['cache_write_12h', 50, '0.0003125'],
      ['audio_input', 40, '0.0016'],
      ['image_input', 30, '0.0003'],
      ['output', 1, '0.000015'],
    ],
  )
  const withoutOwn = chargeFor(
    sheet,
    usageOf({ total: 10, cacheRead: 6, cacheReadAudio: 6, cacheWrite12h: 4 }, { total: 0 }),
  )
  t.same(
    withoutOwn.lines.map(({ item, unitPrice }) => [item, unitPrice]),
    [
      ['cached_audio_input', '0.00000025'],
      ['cache_write_12h', '0.000003125'],
    ],
    'without a rate of their own: as what they are kinds of',
  )
})

t.test('the service tier and the region that the answer reports decide the rates', async (t) => {
  const plain = usageOf({ total: 1_000, cacheRead: 400 }, { total: 100 })
  const long = usageOf({ total: 300_000 }, { total: 100 })
  const total = (usage: Usage): string => formatUsd(chargeFor(tiered, usage).totalPicos)
  t.equal(total(plain), '0.0031')
  t.equal(total({ ...plain, serviceTier: 'flex' }), '0.00155')
  t.equal(total({ ...plain, serviceTier: 'priority' }), '0.0062')
  t.equal(total({ ...long, serviceTier: 'flex' }), '0.751125')
  t.equal(total({ ...plain, inferenceGeo: 'us' }), '0.00341')
  t.equal(total({ ...plain, serviceTier: 'flex', inferenceGeo: 'us' }), '0.001705')
  for (const unknown of ['scale', 'constructor']) {
    t.equal(total({ ...plain, serviceTier: unknown, inferenceGeo: unknown }), '0.0031', 'as the standard one')
    t.same(unpricedOf(tiered, { ...plain, serviceTier: unknown, inferenceGeo: unknown }), {
      serviceTier: unknown,
      inferenceGeo: unknown,
    })
  }
  t.same(unpricedOf(tiered, { ...plain, serviceTier: 'flex', inferenceGeo: 'us' }), {})
})

t.test('a request for a tier or a region reserves the dearer of what it asks for and the standard one', async (t) => {
  const demand = { ...demandOf(1_000, 100), audio: false, toolCallsMax: {} }
  const worst = (asked: Partial<UsageBounds>): string => formatUsd(worstCasePicos(tiered, { ...demand, ...asked }))
  t.equal(worst({}), '0.00775')
  t.equal(worst({ serviceTier: 'flex' }), '0.00775')
  t.equal(worst({ serviceTier: 'priority' }), '0.00925')
  t.equal(worst({ inferenceGeo: 'us' }), '0.008525')
})

t.test('an item without a rate of its own costs what it is a kind of; an unpriced tool is a line at 0', async (t) => {
  const plain: PriceSheet = { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 10 }
  const charge = chargeFor(
    plain,
    usageOf({ total: 30, cacheRead: 10, audio: 10 }, { total: 3, reasoning: 1 }, { x_search: 1 }),
  )
  t.equal(formatUsd(charge.totalPicos), '0.000036')
  t.match(charge.lines.at(-1), { item: 'x_search', unitPrice: '0', amount: '0' })
})

t.test('no usage, no lines', async (t) => {
  t.same(chargeFor(sheet, noUsage), { lines: [], totalPicos: 0n })
})

t.test('published prices of up to six decimals per million are exact per token', async (t) => {
  t.equal(perTokenPicos('0.0375'), 37_500n)
  t.equal(perTokenPicos('0.000001'), 1n)
})

const tokens = fc.nat({ max: 2_000_000 })
const usages = fc
  .record({
    total: tokens,
    cacheRead: tokens,
    cacheReadAudio: tokens,
    cacheWrite12h: tokens,
    cacheWrite5m: tokens,
    audio: tokens,
    output: tokens,
    reasoning: tokens,
    outputAudio: tokens,
    calls: fc.nat({ max: 50 }),
  })
  .map((each) =>
    usageOf(
      { ...each },
      { total: each.output, reasoning: each.reasoning, audio: each.outputAudio },
      { web_search: each.calls },
    ),
  )

t.test('the sum of the lines is the charge, and each line is quantity × unit price', async () => {
  fc.assert(
    fc.property(usages, (usage) => {
      const { lines, totalPicos } = chargeFor(sheet, usage)
      const exact = lines.every((line) => parseUsd(line.amount) === BigInt(line.quantity) * parseUsd(line.unitPrice))
      return exact && lines.reduce((sum, line) => sum + parseUsd(line.amount), 0n) === totalPicos
    }),
  )
})

t.test('the parts of a usage add up to its whole, however a provider overlaps them', async () => {
  fc.assert(
    fc.property(usages, (usage) => {
      const { inputUncached, cacheRead, cacheWrite5m, cacheWrite1h, inputAudio, inputImage, promptTotal } = usage
      const { cacheReadAudio = 0, cacheWrite12h = 0 } = usage
      const output = usage.outputReasoning + usage.outputAudio + usage.outputImage
      return (
        inputUncached + cacheRead + cacheWrite5m + cacheWrite1h + cacheWrite12h + inputAudio + inputImage ===
          promptTotal &&
        cacheReadAudio <= cacheRead &&
        output <= usage.outputTotal
      )
    }),
  )
})

const sheetWithContext: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '4', output: '1' },
  max_output_tokens: 1,
  context_tokens: 100_000,
}

const demandOf = (promptTokens: number, outputTokens: number): UsageBounds => ({
  inputTokensMax: promptTokens,
  unmeasured: false,
  outputTokensMax: outputTokens,
  choices: 1,
  audio: true,
  image: false,
  toolCallsMax: { web_search: 50 },
})

t.test('no request within its demand costs more than its worst case', async () => {
  fc.assert(
    fc.property(usages, (usage) => {
      const bounded = { ...usage, outputTotal: Math.min(usage.outputTotal, sheet.max_output_tokens) }
      const fits = { ...bounded, outputReasoning: 0, outputAudio: Math.min(usage.outputAudio, bounded.outputTotal) }
      return chargeFor(sheet, fits).totalPicos <= worstCasePicos(sheet, demandOf(fits.promptTotal, fits.outputTotal))
    }),
  )
})

t.test('a request that cannot be measured reserves the whole context of the model', async (t) => {
  const demand = { ...demandOf(10, 0), unmeasured: true, audio: false, toolCallsMax: {} }
  t.equal(formatUsd(worstCasePicos(sheetWithContext, demand)), '0.4')
})

t.test('what searches add to the prompt is reserved, within bounds', async (t) => {
  const priced = { ...sheetWithContext, per_call: { web_search: '0', x_search: '0', code_interpreter: '0' } }
  const cost = (toolCallsMax: UsageBounds['toolCallsMax'], sheet: PriceSheet = priced, inputTokensMax = 10): string =>
    formatUsd(worstCasePicos(sheet, { ...demandOf(inputTokensMax, 0), audio: false, toolCallsMax }))
  // 4 a million tokens: 14,000 of one search, never more than 64,000, nor than the context of 100,000.
  t.equal(cost({}), '0.00004')
  t.equal(cost({ web_search: 1 }), '0.05604')
  t.equal(cost({ web_search: 2, x_search: 1 }), '0.16804')
  t.equal(cost({ web_search: 16, x_search: 16 }), '0.25604')
  t.equal(cost({ web_search: 16 }, priced, 99_000), '0.4')
  t.equal(cost({ web_search: 16 }, priced, 200_000), '0.8')
  t.equal(cost({ code_interpreter: 8, grounding_query: 16 }), '0.00004', 'they add nothing')
  t.equal(cost({ web_search: 16 }, sheetWithContext), '0.00004', 'a model that has no such search')
})

t.test('an affordable cap never costs more than its budget', async () => {
  fc.assert(
    fc.property(
      tokens,
      fc.integer({ min: 1, max: 100_000 }),
      fc.bigInt({ min: 0n, max: 10n ** 14n }),
      (prompt, output, budgetPicos) => {
        const demand = demandOf(prompt, output)
        const cap = affordableOutputTokens(sheet, demand, budgetPicos)
        return cap === 0 || worstCasePicos(sheet, demand, cap) <= budgetPicos
      },
    ),
  )
})
