import type { PriceSheet, VideoSheet } from '../../events/types.ts'
import { parseUsd } from '../money.ts'
import { isExactPerToken, type LengthRates } from './charge.ts'
import { isEmbeddingSheet } from './price-book.ts'

type Rates = PriceSheet['per_million_tokens']

export interface PriceEntry {
  readonly model: string
  /** ISO 8601 with an offset. */
  readonly effective_from: string
  readonly source: string
  /** Names of dated snapshots that the provider sells at this price, without the provider. */
  readonly snapshots?: readonly string[]
  /** For a model that is paid by tokens; a video model has `video` instead. */
  readonly sheet?: PriceSheet
  readonly video?: VideoSheet
}

/** What `schemas/price-file.json` describes. */
export interface PriceFile {
  readonly prices: readonly PriceEntry[]
}

interface PriceProblem {
  /** `prices[3].sheet.tiers[0].per_million_tokens` */
  readonly path: string
  readonly message: string
}

const modelPattern = /^[^/\s]+\/\S+$/
const instantPattern = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/

/** `Date.parse` takes February 30 for March 2: such a day is rejected. */
const isCalendarDay = (day: string): boolean => {
  const midnightMs = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(day)
}

const instantMs = (text: string): number => {
  const day = instantPattern.exec(text)?.[1]
  return day !== undefined && isCalendarDay(day) ? Date.parse(text) : Number.NaN
}

const problemsOfModel = ({ model }: PriceEntry, path: string): readonly PriceProblem[] =>
  modelPattern.test(model) ? [] : [{ path: `${path}.model`, message: 'is not <provider>/<model>' }]

const problemsOfSnapshots = ({ model, snapshots = [] }: PriceEntry, path: string): readonly PriceProblem[] =>
  snapshots.flatMap((name, index) =>
    name.startsWith(`${model.slice(model.indexOf('/') + 1)}-`)
      ? []
      : [{ path: `${path}.snapshots[${index}]`, message: `is no snapshot of ${model}` }],
  )

const problemsOfInstant = (entry: PriceEntry, path: string): readonly PriceProblem[] =>
  Number.isNaN(instantMs(entry.effective_from))
    ? [{ path: `${path}.effective_from`, message: 'is not an instant such as 2026-10-01T00:00:00Z' }]
    : []

/** No provider sells a cached token for more than a fresh one: the figures were swapped, or a decimal point slipped. */
const problemsOfCached = (rates: Rates, path: string): readonly PriceProblem[] => {
  const { input, audio_input = input, image_input = input } = rates
  const pairs = [
    ['cached_input', 'input', input],
    ['cached_audio_input', 'audio_input', audio_input],
    ['cached_image_input', 'image_input', image_input],
  ] as const
  return pairs.flatMap(([item, fresh, price]) => {
    const cached = rates[item]
    return cached === undefined || parseUsd(cached) <= parseUsd(price)
      ? []
      : [{ path: `${path}.${item}`, message: `is ${cached}, above ${fresh}, which is ${price}` }]
  })
}

/** A token is charged in whole pico-dollars, in every region. */
const problemsOfDecimals = (rates: Rates, { region_multipliers }: PriceSheet, path: string): readonly PriceProblem[] =>
  ['1', ...Object.values(region_multipliers ?? {})].flatMap((multiplier) =>
    Object.entries(rates)
      .filter(([, price]) => !isExactPerToken(price, multiplier))
      .map(([item, price]) => ({
        path: `${path}.${item}`,
        message: `is ${price}${multiplier === '1' ? '' : ` × ${multiplier}`}, more than 6 decimals for a million tokens`,
      })),
  )

/** An item that only the base rates price would fall back to another item's rate in a long prompt. */
const missingItems = (rates: Rates, tierRates: Rates, path: string): readonly PriceProblem[] =>
  Object.keys(rates)
    .filter((item) => !Object.hasOwn(tierRates, item))
    .map((item) => ({ path: `${path}.${item}`, message: 'is missing: the rates of shorter prompts price it' }))

const problemsOfLengthRates = (rates: LengthRates, sheet: PriceSheet, path: string): readonly PriceProblem[] => {
  const { tiers = [], per_million_tokens: base } = rates
  const problemsOfRates = (each: Rates, ratesPath: string): readonly PriceProblem[] => [
    ...problemsOfCached(each, ratesPath),
    ...problemsOfDecimals(each, sheet, ratesPath),
  ]
  const ofTiers = tiers.flatMap((tier, index) => {
    const tierPath = `${path}.tiers[${index}]`
    const ratesPath = `${tierPath}.per_million_tokens`
    const before = tiers[index - 1]?.prompt_tokens_above ?? -1
    const message = `is not above ${before}, the tier before`
    return [
      ...(tier.prompt_tokens_above > before ? [] : [{ path: `${tierPath}.prompt_tokens_above`, message }]),
      ...missingItems(base, tier.per_million_tokens, ratesPath),
      ...problemsOfRates(tier.per_million_tokens, ratesPath),
    ]
  })
  return [...problemsOfRates(base, `${path}.per_million_tokens`), ...ofTiers]
}

/** What the standard service tier prices, at every length, must have a price in each of the others. */
const missingInServiceTier = (rates: LengthRates, sheet: PriceSheet, path: string): readonly PriceProblem[] => [
  ...Object.keys(sheet.per_million_tokens)
    .filter((item) => !Object.hasOwn(rates.per_million_tokens, item))
    .map((item) => ({
      path: `${path}.per_million_tokens.${item}`,
      message: 'is missing: the standard service tier prices it',
    })),
  ...(sheet.tiers ?? [])
    .filter((tier) => !rates.tiers?.some((each) => each.prompt_tokens_above === tier.prompt_tokens_above))
    .map((tier) => ({
      path: `${path}.tiers`,
      message: `has none above ${tier.prompt_tokens_above} tokens: the standard service tier has one`,
    })),
]

const problemsOfEmbedding = (sheet: PriceSheet, path: string): readonly PriceProblem[] => {
  const { output } = sheet.per_million_tokens
  return !isEmbeddingSheet(sheet) || parseUsd(output) === 0n
    ? []
    : [{ path: `${path}.max_output_tokens`, message: `is 0, and output costs ${output}` }]
}

const problemsOfSheet = (sheet: PriceSheet, path: string): readonly PriceProblem[] => [
  ...problemsOfLengthRates(sheet, sheet, path),
  ...problemsOfEmbedding(sheet, path),
  ...Object.entries(sheet.service_tiers ?? {}).flatMap(([name, rates]) => [
    ...missingInServiceTier(rates, sheet, `${path}.service_tiers.${name}`),
    ...problemsOfLengthRates(rates, sheet, `${path}.service_tiers.${name}`),
  ]),
]

/** No extra makes a video cheaper: the figures were swapped, or a decimal point slipped. */
const problemsOfVideo = ({ units_per_second: rates }: VideoSheet, path: string): readonly PriceProblem[] =>
  Object.entries(rates).flatMap(([name, rate]) => {
    const mode = name.slice(0, Math.max(0, name.indexOf('+')))
    const plain = rates[mode]
    return plain === undefined || parseUsd(rate) >= parseUsd(plain)
      ? []
      : [{ path: `${path}.units_per_second.${name}`, message: `is ${rate}, below ${mode}, which is ${plain}` }]
  })

const problemsOfEntry = (entry: PriceEntry, path: string): readonly PriceProblem[] => [
  ...problemsOfModel(entry, path),
  ...problemsOfInstant(entry, path),
  ...problemsOfSnapshots(entry, path),
  ...(entry.sheet === undefined ? [] : problemsOfSheet(entry.sheet, `${path}.sheet`)),
  ...(entry.video === undefined ? [] : problemsOfVideo(entry.video, `${path}.video`)),
]

const problemsOfRepeats = (prices: readonly PriceEntry[]): readonly PriceProblem[] => {
  const firsts = new Map<string, number>()
  return prices.flatMap(({ model, effective_from }, index) => {
    const fromMs = instantMs(effective_from)
    const key = `${model} ${fromMs}`
    const first = firsts.get(key)
    if (first === undefined) firsts.set(key, index)
    return first === undefined || Number.isNaN(fromMs)
      ? []
      : [{ path: `prices[${index}]`, message: `repeats prices[${first}]: the same model from the same instant` }]
  })
}

/** Every mistake that the schema cannot detect, in a file that satisfies `schemas/price-file.json`. */
export const problemsOfPriceFile = ({ prices }: PriceFile): readonly PriceProblem[] => [
  ...prices.flatMap((entry, index) => problemsOfEntry(entry, `prices[${index}]`)),
  ...problemsOfRepeats(prices),
]

const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  )
}

/** With sorted keys: the same content always gives the same text, so its hash can name it. */
export const canonicalPrice = (entry: PriceEntry): string => JSON.stringify(sortKeys(entry))
