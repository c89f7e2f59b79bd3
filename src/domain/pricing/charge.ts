import type { ChargeLine, PriceSheet, Usage } from '../../events/types.ts'
import { divideRoundingHalfUp, formatUsd, parseUsd } from '../money.ts'

type Rates = PriceSheet['per_million_tokens']

/** What one request costs, in picos: the lines, whose sum is the total. */
export interface Charge {
  readonly lines: readonly ChargeLine[]
  readonly totalPicos: bigint
}

const tokensPerRate = 1_000_000n

const perTokenPicosByRate = new Map<string, bigint>()

/** Picos for one token. Exact for every published price; a price of more than 6 decimals per million is rounded half up, once, here. */
export const perTokenPicos = (usdPerMillion: string): bigint => {
  const known = perTokenPicosByRate.get(usdPerMillion)
  if (known !== undefined) return known
  const picos = divideRoundingHalfUp(parseUsd(usdPerMillion), tokensPerRate)
  perTokenPicosByRate.set(usdPerMillion, picos)
  return picos
}

/** The rates of the whole request: those of the highest tier that its (largest) prompt exceeds, else the base rates. */
export const ratesFor = (sheet: PriceSheet, promptTokens: number): Rates =>
  (sheet.tiers ?? []).reduce<{ above: number; rates: Rates }>(
    (best, tier) =>
      promptTokens > tier.prompt_tokens_above && tier.prompt_tokens_above >= best.above
        ? { above: tier.prompt_tokens_above, rates: tier.per_million_tokens }
        : best,
    { above: -1, rates: sheet.per_million_tokens },
  ).rates

/** An item without a published rate is billed at the rate of the item it is a kind of. */
const tokenItems: readonly (readonly [
  item: keyof Rates,
  quantity: (usage: Usage) => number,
  rate: (rates: Rates) => string,
])[] = [
  ['input', (usage) => usage.inputUncached, (rates) => rates.input],
  ['cached_input', (usage) => usage.cacheRead, (rates) => rates.cached_input ?? rates.input],
  ['cache_write_5m', (usage) => usage.cacheWrite5m, (rates) => rates.cache_write_5m ?? rates.input],
  [
    'cache_write_1h',
    (usage) => usage.cacheWrite1h,
    (rates) => rates.cache_write_1h ?? rates.cache_write_5m ?? rates.input,
  ],
  ['audio_input', (usage) => usage.inputAudio, (rates) => rates.audio_input ?? rates.input],
  ['image_input', (usage) => usage.inputImage, (rates) => rates.image_input ?? rates.input],
  [
    'output',
    (usage) => usage.outputTotal - usage.outputReasoning - usage.outputAudio - usage.outputImage,
    (rates) => rates.output,
  ],
  ['reasoning', (usage) => usage.outputReasoning, (rates) => rates.reasoning ?? rates.output],
  ['audio_output', (usage) => usage.outputAudio, (rates) => rates.audio_output ?? rates.output],
  ['image_output', (usage) => usage.outputImage, (rates) => rates.image_output ?? rates.output],
]

interface PricedLine {
  readonly line: ChargeLine
  readonly amountPicos: bigint
}

const priceLine = (item: string, quantity: number, unitPricePicos: bigint): PricedLine => {
  const amountPicos = BigInt(quantity) * unitPricePicos
  return { line: { item, quantity, unitPrice: formatUsd(unitPricePicos), amount: formatUsd(amountPicos) }, amountPicos }
}

/** The bill of one request: quantity × published price, line by line. A tool without a published price is a line at 0. */
export const chargeFor = (sheet: PriceSheet, usage: Usage): Charge => {
  const rates = ratesFor(sheet, usage.promptLargest ?? usage.promptTotal)
  const priced: PricedLine[] = []
  for (const [item, quantityOf, rateOf] of tokenItems) {
    const quantity = quantityOf(usage)
    if (quantity > 0) priced.push(priceLine(item, quantity, perTokenPicos(rateOf(rates))))
  }
  for (const [tool, calls] of Object.entries(usage.toolCalls))
    if (calls > 0) priced.push(priceLine(tool, calls, parseUsd(sheet.per_call?.[tool] ?? '0')))
  return {
    lines: priced.map(({ line }) => line),
    totalPicos: priced.reduce((sum, { amountPicos }) => sum + amountPicos, 0n),
  }
}
