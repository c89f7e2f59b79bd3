import type { PriceSheet } from '../../events/types.ts'
import { formatUsd } from '../money.ts'

type Rates = PriceSheet['per_million_tokens']

export interface SkippedPrice {
  readonly field: string
  readonly reason: string
}

export type ImportedPrice =
  | {
      readonly name: string
      readonly model: string
      readonly sheet: PriceSheet
      readonly leftOut: readonly SkippedPrice[]
    }
  | { readonly name: string; readonly model: string | null; readonly unsupported: readonly SkippedPrice[] }

type Entry = Readonly<Record<string, unknown>>

/** Our names, where LiteLLM's name of a provider differs. */
const providerNames: Readonly<Record<string, string>> = { gemini: 'google', xai: 'grok' }

const rateItems: ReadonlyMap<string, keyof Rates> = new Map([
  ['input_cost_per_token', 'input'],
  ['output_cost_per_token', 'output'],
  ['cache_read_input_token_cost', 'cached_input'],
  ['cache_creation_input_token_cost', 'cache_write_5m'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h'],
  ['input_cost_per_audio_token', 'audio_input'],
  ['output_cost_per_audio_token', 'audio_output'],
  ['output_cost_per_reasoning_token', 'reasoning'],
  ['input_cost_per_image_token', 'image_input'],
  ['output_cost_per_image_token', 'image_output'],
])

const tierPattern = /^(.+)_above_(\d{1,9})k_tokens$/
const priceField = /cost|pric|uplift|billing|provider_specific_entry/

/** Prices of what this gateway does not sell, or refuses without a price: leaving them out cannot make a bill wrong. */
const harmless: readonly (readonly [field: RegExp, reason: string])[] = [
  [/_(?:batches|priority|flex)(?:_|$)/, 'batches and service tiers are not passed on'],
  [/uplift|provider_specific_entry/, 'regions and modes that cost more are not passed on'],
  [/^web_search_billing_unit$/, 'says how a search is counted, not what it costs'],
  [/search|query|file|vector_store|code_interpreter|computer_use|maps/, 'a tool without a published price is refused'],
]

const picosPerUsdDigits = 12
const millionDigits = 6

/** A number's shortest decimal × 10^power as USD; null where that takes more than 12 decimals, or is none. */
const usdOf = (value: unknown, power: number): string | null => {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null
  const [digits = '', exponent = ''] = value.toExponential().split('e')
  const [whole = '', fraction = ''] = digits.split('.')
  const shift = Number(exponent) - fraction.length + power + picosPerUsdDigits
  const significand = BigInt(whole + fraction)
  if (shift >= 0) return formatUsd(significand * 10n ** BigInt(shift))
  const divisor = 10n ** BigInt(-shift)
  return significand % divisor === 0n ? formatUsd(significand / divisor) : null
}

interface Reading {
  readonly rates: Partial<Record<keyof Rates, string>>
  readonly tiers: Map<number, Partial<Record<keyof Rates, string>>>
  readonly perCall: Record<string, string>
  readonly leftOut: SkippedPrice[]
  readonly unsupported: SkippedPrice[]
}

const inexact = 'is not a number with at most 12 decimals for a million tokens'

const readRate = (reading: Reading, field: string, value: unknown): boolean => {
  const [, base = field, thousands] = tierPattern.exec(field) ?? []
  const item = rateItems.get(base)
  if (item === undefined) return false
  const rate = usdOf(value, millionDigits)
  if (rate === null) reading.unsupported.push({ field, reason: inexact })
  else if (thousands === undefined) reading.rates[item] = rate
  else {
    const above = Number(thousands) * 1_000
    reading.tiers.set(above, { ...reading.tiers.get(above), [item]: rate })
  }
  return true
}

const searchPrice = (value: unknown): string | null => {
  const prices = typeof value === 'object' && value !== null ? [...new Set(Object.values(value))] : []
  return prices.length === 1 ? usdOf(prices[0], 0) : null
}

const toolPrices: ReadonlyMap<string, { readonly tool: string; readonly read: (value: unknown) => string | null }> =
  new Map([
    ['search_context_cost_per_query', { tool: 'web_search', read: searchPrice }],
    ['code_interpreter_cost_per_session', { tool: 'code_interpreter', read: (value) => usdOf(value, 0) }],
    ['file_search_cost_per_1k_calls', { tool: 'file_search', read: (value) => usdOf(value, -3) }],
  ])

/** Providers whose searches are counted by the call, under the tool's own name. */
const countsCalls: ReadonlySet<unknown> = new Set(['openai', 'anthropic', 'xai'])

const readTool = (reading: Reading, field: string, value: unknown, entry: Entry): boolean => {
  const known = countsCalls.has(entry['litellm_provider']) ? toolPrices.get(field) : undefined
  const price = known?.read(value) ?? null
  if (known === undefined || price === null) return false
  reading.perCall[known.tool] = price
  return true
}

const saysNothing = (value: unknown): boolean => value === null || value === 0

const readField = (reading: Reading, field: string, value: unknown, entry: Entry): void => {
  if (!priceField.test(field) || readRate(reading, field, value) || readTool(reading, field, value, entry)) return
  if (saysNothing(value)) return
  const reason = harmless.find(([pattern]) => pattern.test(field))?.[1]
  if (reason === undefined) reading.unsupported.push({ field, reason: 'cannot be expressed in a sheet' })
  else reading.leftOut.push({ field, reason })
}

const readFields = (entry: Entry): Reading => {
  const reading: Reading = { rates: {}, tiers: new Map(), perCall: {}, leftOut: [], unsupported: [] }
  for (const [field, value] of Object.entries(entry)) readField(reading, field, value, entry)
  return reading
}

const isComplete = (rates: Reading['rates']): rates is Rates => rates.input !== undefined && rates.output !== undefined

/** What prices a short prompt must price a long one too: in a tier, no item falls back to another item's rate. */
const missingInTiers = ({ rates, tiers }: Reading): readonly SkippedPrice[] =>
  [...tiers].flatMap(([above, tier]) =>
    Object.keys(rates)
      .filter((item) => !Object.hasOwn(tier, item))
      .map((item) => ({ field: `${item} above ${above} tokens`, reason: 'is missing: shorter prompts have it' })),
  )

const tiersOf = ({ tiers }: Reading): PriceSheet['tiers'] =>
  [...tiers]
    .toSorted(([one], [other]) => one - other)
    .map(([above, rates]) => ({ prompt_tokens_above: above, per_million_tokens: rates as Rates }))

const servedModes: ReadonlySet<unknown> = new Set(['chat', 'responses', 'completion'])

const problemsOf = (entry: Entry, reading: Reading): readonly SkippedPrice[] => {
  const { mode, max_output_tokens: most } = entry
  return [
    ...(servedModes.has(mode) ? [] : [{ field: 'mode', reason: `${JSON.stringify(mode)} is not served here` }]),
    ...(reading.rates.input === undefined ? [{ field: 'input_cost_per_token', reason: 'is missing' }] : []),
    ...(reading.rates.output === undefined ? [{ field: 'output_cost_per_token', reason: 'is missing' }] : []),
    ...(Number.isSafeInteger(most) && Number(most) >= 1
      ? []
      : [{ field: 'max_output_tokens', reason: 'is missing: it sizes reservations' }]),
    ...missingInTiers(reading),
    ...reading.unsupported,
  ]
}

const sheetOf = (entry: Entry, reading: Reading, rates: Rates): PriceSheet => ({
  currency: 'USD',
  per_million_tokens: rates,
  ...(reading.tiers.size === 0 ? {} : { tiers: tiersOf(reading)! }),
  ...(Object.keys(reading.perCall).length === 0 ? {} : { per_call: reading.perCall }),
  max_output_tokens: Number(entry['max_output_tokens']),
})

/** Only rows with a provider are prices. */
export const isProviderName = (entry: unknown): boolean =>
  isEntry(entry) && typeof entry['litellm_provider'] === 'string'

/** Our `<provider>/<model>`; null where the provider is not one of ours. */
const modelOf = (name: string, { litellm_provider: theirs }: Entry, providers: ReadonlySet<string>): string | null => {
  if (typeof theirs !== 'string') return null
  const ours = [theirs, providerNames[theirs] ?? theirs].find((provider) => providers.has(provider))
  return ours === undefined ? null : `${ours}/${name.startsWith(`${theirs}/`) ? name.slice(theirs.length + 1) : name}`
}

const readEntry = (name: string, entry: Entry, providers: ReadonlySet<string>): ImportedPrice => {
  const model = modelOf(name, entry, providers)
  if (model === null) {
    const reason = isProviderName(entry) ? 'names no provider that is configured here' : 'is missing'
    return { name, model, unsupported: [{ field: 'litellm_provider', reason }] }
  }
  const reading = readFields(entry)
  const unsupported = problemsOf(entry, reading)
  if (unsupported.length > 0 || !isComplete(reading.rates)) return { name, model, unsupported }
  return { name, model, sheet: sheetOf(entry, reading, reading.rates), leftOut: reading.leftOut }
}

/** LiteLLM's description of an entry, which is itself an entry of the table. */
const description = 'sample_spec'

const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * LiteLLM's `model_prices_and_context_window.json`, parsed: each price field is expressed exactly, listed as left out
 * where that does no harm, or makes its entry unsupported; nothing is guessed, and nothing rounded.
 */
export const readLiteLlm = (table: Entry, providers: ReadonlySet<string>): readonly ImportedPrice[] => {
  const named = new Map<string, string>()
  return Object.entries(table).flatMap(([name, entry]): readonly ImportedPrice[] => {
    if (name === description) return []
    if (!isEntry(entry)) return [{ name, model: null, unsupported: [{ field: '', reason: 'is no object' }] }]
    const read = readEntry(name, entry, providers)
    if (!('sheet' in read)) return [read]
    const first = named.get(read.model)
    if (first === undefined) named.set(read.model, name)
    return first === undefined
      ? [read]
      : [{ name, model: read.model, unsupported: [{ field: '', reason: `names the same model as ${first}` }] }]
  })
}
