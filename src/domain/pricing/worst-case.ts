import type { PriceSheet, Usage } from '../../events/types.ts'
import { maxOf, parseUsd } from '../money.ts'
import { type LengthRates, perTokenPicos, regionMultiplierOf, type ServedWith, serviceRatesOf } from './charge.ts'

type Rates = PriceSheet['per_million_tokens']

/** With the service tier and the region that are asked for. */
export interface UsageBounds extends ServedWith {
  /** An upper bound for any tokenizer. */
  readonly inputTokensMax: number
  /** The request refers to something that cannot be measured, such as a file: it may fill the model's whole context. */
  readonly unmeasured: boolean
  /** The caller's own limit on all output together; null when none was set. */
  readonly outputTokensMax: number | null
  /** How many answers were asked for; each may use the whole output limit. */
  readonly choices: number
  readonly audio: boolean
  readonly image: boolean
  /** The most calls of each tool, and the most tokens that tools read beside the model, by price name. */
  readonly toolCallsMax: { readonly [tool: string]: number }
}

/** Where a sheet has no context size: the largest of any model. */
const contextTokensUnknown = 2_000_000

const contextTokensOf = ({ context_tokens: context = contextTokensUnknown }: PriceSheet): number => context

/** Tools whose results go into the prompt. Google's have other names, and bill no tokens for searches. */
const searchTool = /^(?:web_search|x_search|document_search|file_search)/
/** What one search adds to the prompt: recorded ones added up to 13,600. */
const searchTokensMax = 14_000
/** For all searches of a request: few requests make five, and a small wallet must not be refused for the sixteenth. */
const searchedTokensMax = 64_000

const searchedTokensOf = (sheet: PriceSheet, { toolCallsMax }: UsageBounds): number => {
  if (sheet.per_call === undefined) return 0
  const searches = Object.entries(toolCallsMax)
    .filter(([tool]) => searchTool.test(tool) && sheet.per_call?.[tool] !== undefined)
    .reduce((sum, [, calls]) => sum + calls, 0)
  return Math.min(searches * searchTokensMax, searchedTokensMax)
}

/** Searches never add beyond the model's context; what was sent is counted in full. */
const inputTokensOf = (sheet: PriceSheet, demand: UsageBounds): number => {
  const { inputTokensMax, unmeasured } = demand
  const context = contextTokensOf(sheet)
  const wanted = unmeasured ? context : Math.min(inputTokensMax + searchedTokensOf(sheet, demand), context)
  return Math.max(inputTokensMax, wanted)
}

/** A request may fall into any tier up to the size of its prompt: the most expensive of them counts. */
const ratesByLength = ({ per_million_tokens, tiers = [] }: LengthRates, inputTokens: number): readonly Rates[] => [
  per_million_tokens,
  ...tiers.filter((tier) => inputTokens > tier.prompt_tokens_above).map((tier) => tier.per_million_tokens),
]

/** An answer may be served with the standard service tier instead of the one that was asked for. */
const reachableRates = (sheet: PriceSheet, demand: UsageBounds): readonly Rates[] => {
  const inputTokens = inputTokensOf(sheet, demand)
  const service = serviceRatesOf(sheet, demand)
  const standard = ratesByLength(sheet, inputTokens)
  return service === sheet ? standard : [...standard, ...ratesByLength(service, inputTokens)]
}

/** Of the region that was asked for, or of none. */
const dearest = (sheet: PriceSheet, demand: UsageBounds, prices: readonly (string | undefined)[]): bigint => {
  const multiplier = regionMultiplierOf(sheet, demand)
  return prices.reduce<bigint>(
    (most, price) => (price === undefined ? most : maxOf(most, perTokenPicos(price), perTokenPicos(price, multiplier))),
    0n,
  )
}

interface RatesPicos {
  readonly input: bigint
  readonly output: bigint
}

/** Of sheets whose rates are the same for any length, by what is asked for alike. */
const plainRates = new WeakMap<PriceSheet, RatesPicos>()

const isPlain = (sheet: PriceSheet, demand: UsageBounds): boolean =>
  !demand.audio &&
  !demand.image &&
  (sheet.tiers === undefined || sheet.tiers.length === 0) &&
  serviceRatesOf(sheet, demand) === sheet &&
  regionMultiplierOf(sheet, demand) === '1'

const ratesPicosOf = (sheet: PriceSheet, demand: UsageBounds): RatesPicos => {
  const known = isPlain(sheet, demand) ? plainRates.get(sheet) : null
  if (known) return known
  const rates = { input: inputRatePicos(sheet, demand), output: outputRatePicos(sheet, demand) }
  if (known === undefined) plainRates.set(sheet, rates)
  return rates
}

const inputRatePicos = (sheet: PriceSheet, demand: UsageBounds): bigint =>
  dearest(
    sheet,
    demand,
    reachableRates(sheet, demand).flatMap((rates) => [
      rates.input,
      rates.cache_write_5m,
      rates.cache_write_1h,
      rates.cache_write_12h,
      ...(demand.audio ? [rates.audio_input, rates.cached_audio_input] : []),
      ...(demand.image ? [rates.image_input, rates.cached_image_input] : []),
    ]),
  )

const outputRatePicos = (sheet: PriceSheet, demand: UsageBounds): bigint =>
  dearest(
    sheet,
    demand,
    reachableRates(sheet, demand).flatMap((rates) => [
      rates.output,
      rates.reasoning,
      rates.image_output,
      demand.audio ? rates.audio_output : undefined,
    ]),
  )

export const maxOutputTokens = (sheet: PriceSheet, demand: UsageBounds): number =>
  Math.min(demand.outputTokensMax ?? sheet.max_output_tokens, sheet.max_output_tokens) * demand.choices

const beforeOutputPicos = (sheet: PriceSheet, demand: UsageBounds, { input }: RatesPicos): bigint => {
  const inputPicos = BigInt(inputTokensOf(sheet, demand)) * input
  const { per_call: prices } = sheet
  if (prices === undefined) return inputPicos
  return Object.entries(demand.toolCallsMax).reduce(
    (sum, [tool, calls]) => sum + BigInt(calls) * parseUsd(prices[tool] ?? '0'),
    inputPicos,
  )
}

/** In picos, for each cap of the output of each answer: the wallet may set one, or none (null). */
export const worstCasesPicos = (
  sheet: PriceSheet,
  demand: UsageBounds,
  outputCaps: readonly (number | null)[],
): readonly bigint[] => {
  const tokens = maxOutputTokens(sheet, demand)
  const rates = ratesPicosOf(sheet, demand)
  const beforePicos = beforeOutputPicos(sheet, demand, rates)
  return outputCaps.map((cap) => {
    const capped = cap === null ? tokens : Math.min(tokens, cap * demand.choices)
    return beforePicos + BigInt(capped) * rates.output
  })
}

/** The output tokens of each answer that `budgetPicos` pays for, at most the model's maximum, never below zero. */
export const affordableOutputTokens = (sheet: PriceSheet, demand: UsageBounds, budgetPicos: bigint): number => {
  const rates = ratesPicosOf(sheet, demand)
  const remainingPicos = budgetPicos - beforeOutputPicos(sheet, demand, rates)
  if (remainingPicos < 0n) return 0
  const most = maxOutputTokens(sheet, demand) / demand.choices
  const rate = rates.output * BigInt(demand.choices)
  return rate === 0n ? most : Math.min(most, Number(remainingPicos / rate))
}

/** Of all tokens that a model's context and output allow: their figures are not exact, and ours may be old. */
const plausibleRatioMax = 2
/** Tools of the provider, and samplings beside the answer, read the prompt again with each call. */
const plausibleRatioWithToolsMax = 64
const plausibleCallsMax = 10_000

const isToolTokens = (tool: string): boolean => tool.endsWith('_tokens')

const reportedTokensOf = ({ promptTotal, outputTotal, toolCalls }: Usage): number =>
  Object.entries(toolCalls)
    .filter(([tool]) => isToolTokens(tool))
    .reduce((sum, [, tokens]) => sum + tokens, promptTotal + outputTotal)

interface AskedFor {
  /** Each may fill the model's context. */
  readonly prompts: number
  readonly choices: number
}

/** False for a usage that no request to the model can have. */
export const isPlausibleUsage = (sheet: PriceSheet, usage: Usage, { prompts, choices }: AskedFor): boolean => {
  const { toolCalls, promptLargest, negative } = usage
  if (negative !== undefined) return false
  const hasTools = promptLargest !== undefined || Object.keys(toolCalls).length > 0
  const calls = Object.entries(toolCalls).filter(([tool]) => !isToolTokens(tool))
  if (calls.some(([, count]) => count > plausibleCallsMax)) return false
  const most = contextTokensOf(sheet) * prompts + sheet.max_output_tokens * choices
  return reportedTokensOf(usage) <= most * (hasTools ? plausibleRatioWithToolsMax : plausibleRatioMax)
}
