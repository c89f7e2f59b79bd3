import type { ChargeLine, PriceSheet, Usage } from '../../events/types.ts'
import { divideRoundingHalfUp, formatUsd, parseUsd, picosPerUsd } from '../money.ts'

type Rates = PriceSheet['per_million_tokens']

/** What one request costs, in picos: the lines, whose sum is the total. */
interface Charge {
  readonly lines: readonly ChargeLine[]
  readonly totalPicos: bigint
}

const tokensPerRate = 1_000_000n

/** True if one token costs a whole number of pico-dollars: a price of at most 6 decimals per million does. */
export const isExactPerToken = (usdPerMillion: string, multiplier = '1'): boolean =>
  (parseUsd(usdPerMillion) * parseUsd(multiplier)) % (tokensPerRate * picosPerUsd) === 0n

interface UnitPrice {
  readonly picos: bigint
  readonly usd: string
}

const tokenPrices = new Map<string, UnitPrice>()

const tokenPriceOf = (usdPerMillion: string, multiplier: string): UnitPrice => {
  const key = multiplier === '1' ? usdPerMillion : `${usdPerMillion} ${multiplier}`
  const known = tokenPrices.get(key)
  if (known !== undefined) return known
  const picos = divideRoundingHalfUp(parseUsd(usdPerMillion) * parseUsd(multiplier), tokensPerRate * picosPerUsd)
  const price = { picos, usd: formatUsd(picos) }
  tokenPrices.set(key, price)
  return price
}

/** Exact for all that may be published today; older prices with over 6 decimals a million are rounded half up. */
export const perTokenPicos = (usdPerMillion: string, multiplier = '1'): bigint =>
  tokenPriceOf(usdPerMillion, multiplier).picos

export type LengthRates = Pick<PriceSheet, 'per_million_tokens' | 'tiers'>

/** The rates of the whole request: those of the highest tier that its (largest) prompt exceeds, else the base rates. */
export const ratesFor = (rates: LengthRates, promptTokens: number): Rates =>
  (rates.tiers ?? []).reduce<{ above: number; rates: Rates }>(
    (best, tier) =>
      promptTokens > tier.prompt_tokens_above && tier.prompt_tokens_above >= best.above
        ? { above: tier.prompt_tokens_above, rates: tier.per_million_tokens }
        : best,
    { above: -1, rates: rates.per_million_tokens },
  ).rates

/** The service tier and the region that an answer was served with, or that are asked for; absent: the standard ones. */
export type ServedWith = Pick<Usage, 'serviceTier' | 'inferenceGeo'>

const ownMember = <T>(members: { readonly [name: string]: T } | undefined, name: string | undefined): T | undefined =>
  members !== undefined && name !== undefined && Object.hasOwn(members, name) ? members[name] : undefined

/** Those of the service tier; without any of its own, the standard rates. */
export const serviceRatesOf = (sheet: PriceSheet, { serviceTier }: ServedWith): LengthRates =>
  ownMember(sheet.service_tiers, serviceTier) ?? sheet

export const regionMultiplierOf = (sheet: PriceSheet, { inferenceGeo }: ServedWith): string =>
  ownMember(sheet.region_multipliers, inferenceGeo) ?? '1'

/** What was served and has no price of its own: it is charged like the standard one, and may have cost more. */
export const unpricedOf = (sheet: PriceSheet, { serviceTier, inferenceGeo }: ServedWith): ServedWith => ({
  ...(serviceTier === undefined || ownMember(sheet.service_tiers, serviceTier) !== undefined ? {} : { serviceTier }),
  ...(inferenceGeo === undefined || ownMember(sheet.region_multipliers, inferenceGeo) !== undefined
    ? {}
    : { inferenceGeo }),
})

/** An item without a published rate is billed at the rate of the item it is a kind of. */
const tokenItems: readonly (readonly [
  item: keyof Rates,
  quantity: (usage: Usage) => number,
  rate: (rates: Rates) => string,
])[] = [
  ['input', (usage) => usage.inputUncached, (rates) => rates.input],
  [
    'cached_input',
    (usage) => usage.cacheRead - (usage.cacheReadAudio ?? 0) - (usage.cacheReadImage ?? 0),
    (rates) => rates.cached_input ?? rates.input,
  ],
  [
    'cached_audio_input',
    (usage) => usage.cacheReadAudio ?? 0,
    (rates) => rates.cached_audio_input ?? rates.cached_input ?? rates.audio_input ?? rates.input,
  ],
  [
    'cached_image_input',
    (usage) => usage.cacheReadImage ?? 0,
    (rates) => rates.cached_image_input ?? rates.cached_input ?? rates.image_input ?? rates.input,
  ],
  ['cache_write_5m', (usage) => usage.cacheWrite5m, (rates) => rates.cache_write_5m ?? rates.input],
  [
    'cache_write_1h',
    (usage) => usage.cacheWrite1h,
    (rates) => rates.cache_write_1h ?? rates.cache_write_5m ?? rates.input,
  ],
  [
    'cache_write_12h',
    (usage) => usage.cacheWrite12h ?? 0,
    (rates) => rates.cache_write_12h ?? rates.cache_write_1h ?? rates.cache_write_5m ?? rates.input,
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

const priceLine = (item: string, quantity: number, { picos, usd }: UnitPrice): PricedLine => {
  const amountPicos = BigInt(quantity) * picos
  return { line: { item, quantity, unitPrice: usd, amount: formatUsd(amountPicos) }, amountPicos }
}

const unitPriceOf = (usd: string): UnitPrice => {
  const picos = parseUsd(usd)
  return { picos, usd: formatUsd(picos) }
}

/** What is charged for a usage that cannot be, until an operator confirms it. `reserved`: USD. */
export const chargeReservation = (reserved: string): Charge => {
  const { line, amountPicos } = priceLine('reservation', 1, unitPriceOf(reserved))
  return { lines: amountPicos === 0n ? [] : [line], totalPicos: amountPicos }
}

/** Quantity × published price, line by line. A tool without a published price is a line at 0. */
export const chargeFor = (sheet: PriceSheet, usage: Usage): Charge => {
  const rates = ratesFor(serviceRatesOf(sheet, usage), usage.promptLargest ?? usage.promptTotal)
  const multiplier = regionMultiplierOf(sheet, usage)
  const priced: PricedLine[] = []
  for (const [item, quantityOf, rateOf] of tokenItems) {
    const quantity = quantityOf(usage)
    if (quantity > 0) priced.push(priceLine(item, quantity, tokenPriceOf(rateOf(rates), multiplier)))
  }
  for (const [tool, calls] of Object.entries(usage.toolCalls))
    if (calls > 0) priced.push(priceLine(tool, calls, unitPriceOf(sheet.per_call?.[tool] ?? '0')))
  return {
    lines: priced.map(({ line }) => line),
    totalPicos: priced.reduce((sum, { amountPicos }) => sum + amountPicos, 0n),
  }
}
