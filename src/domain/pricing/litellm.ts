import type { PriceSheet } from '../../events/types.ts'
import { formatUsd, isUsd, parseUsd } from '../money.ts'
import { isExactPerToken, type LengthRates } from './charge.ts'

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

interface ImportScope {
  readonly providers: ReadonlySet<string>
  /** Rows whose input and output cost nothing are prices too. */
  readonly allowFree: boolean
}

type Entry = Readonly<Record<string, unknown>>

/** Our names, where LiteLLM's name of a provider differs. */
const providerNames: Readonly<Record<string, string>> = {
  gemini: 'google',
  xai: 'grok',
  bedrock_converse: 'bedrock',
  'vertex_ai-language-models': 'vertex',
  'vertex_ai-anthropic_models': 'vertex',
  vertex_ai: 'vertex',
}

const rateItems: ReadonlyMap<string, keyof Rates> = new Map([
  ['input_cost_per_token', 'input'],
  ['output_cost_per_token', 'output'],
  ['cache_read_input_token_cost', 'cached_input'],
  ['cache_read_input_audio_token_cost', 'cached_audio_input'],
  ['cache_read_input_image_token_cost', 'cached_image_input'],
  ['cache_creation_input_token_cost', 'cache_write_5m'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h'],
  ['cache_creation_input_token_cost_above_12hr', 'cache_write_12h'],
  ['input_cost_per_audio_token', 'audio_input'],
  ['output_cost_per_audio_token', 'audio_output'],
  ['output_cost_per_reasoning_token', 'reasoning'],
  ['input_cost_per_image_token', 'image_input'],
  ['output_cost_per_image_token', 'image_output'],
])

/** By the end of a field's name: the service tier as providers name it in their answers. */
const serviceTiers: Readonly<Record<string, string>> = {
  flex: 'flex',
  priority: 'priority',
  batches: 'batch',
  ultrafast: 'ultrafast',
}

const rateField = /^(.+?)(?:_above_(\d{1,9})k_tokens)?(?:_(flex|priority|batches|ultrafast))?$/
const priceField = /cost|pric|uplift|billing/

const unpricedTool = 'a tool without a published price is refused'
const regionalEndpoint = 'it is the price of another endpoint, which is another provider here'
const decisions = 'decisions are not offered'

/** Prices of what this gateway does not sell, or refuses without a price: leaving them out cannot make a bill wrong. */
const ignorable: ReadonlyMap<string, string> = new Map([
  ['web_search_billing_unit', 'is how a search is counted, not what it costs'],
  ['search_free_requests', 'free allowances are not observed'],
  ['search_context_cost_per_query', unpricedTool],
  ['google_maps_grounding_cost_per_query', unpricedTool],
  ['code_interpreter_cost_per_session', unpricedTool],
  ['file_search_cost_per_1k_calls', unpricedTool],
  ['file_search_cost_per_gb_per_day', unpricedTool],
  ['vector_store_cost_per_gb_per_day', unpricedTool],
  ['computer_use_input_cost_per_1k_tokens', unpricedTool],
  ['computer_use_output_cost_per_1k_tokens', unpricedTool],
  ['regional_processing_uplift_multiplier_eu', regionalEndpoint],
  ['regional_processing_uplift_multiplier_us', regionalEndpoint],
  ['regional_endpoint_uplift_multiplier', regionalEndpoint],
  ...['', '_above_272k_tokens'].flatMap((length) =>
    [
      'input_cost_per_token',
      'output_cost_per_token',
      'cache_read_input_token_cost',
      'cache_creation_input_token_cost',
    ].map((field) => [`${field}${length}_decisions`, decisions] as const),
  ),
])

/** Figures and lists that are no prices. Any other is listed as unknown. */
const descriptive: ReadonlySet<string> = new Set([
  'max_tokens',
  'max_input_tokens',
  'max_output_tokens',
  'max_query_tokens',
  'metadata',
  'output_vector_size',
  'prompt_cache_min_tokens',
  'reasoning_contexts',
  'reasoning_effort_levels',
  'reasoning_modes',
  'rpm',
  'rules',
  'supported_audio_formats',
  'supported_endpoints',
  'supported_modalities',
  'supported_output_modalities',
  'supported_regions',
  'token_count_framing',
  'token_count_model',
  'tpm',
])

const picosPerUsdDigits = 12
const millionDigits = 6

/** A number's shortest decimal × 10^power as USD; null where it has more than 12 decimals or 15 whole digits, or is none. */
const usdOf = (value: unknown, power: number): string | null => {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null
  const [digits = '', exponent = ''] = value.toExponential().split('e')
  const [whole = '', fraction = ''] = digits.split('.')
  const shift = Number(exponent) - fraction.length + power + picosPerUsdDigits
  const significand = BigInt(whole + fraction)
  const scale = 10n ** BigInt(Math.abs(shift))
  if (shift < 0 && significand % scale !== 0n) return null
  const picos = shift < 0 ? significand / scale : significand * scale
  return isUsd(picos) ? formatUsd(picos) : null
}

type SomeRates = Partial<Record<keyof Rates, string>>

interface ReadRates {
  base: SomeRates
  readonly tiers: Map<number, SomeRates>
}

interface Reading {
  readonly standard: ReadRates
  readonly serviceTiers: Map<string, ReadRates>
  readonly perCall: Record<string, string>
  readonly regionMultipliers: Record<string, string>
  readonly leftOut: SkippedPrice[]
  readonly unsupported: SkippedPrice[]
}

const noRates = (): ReadRates => ({ base: {}, tiers: new Map() })

const ratesOfTier = ({ standard, serviceTiers: tiers }: Reading, suffix: string | undefined): ReadRates => {
  const name = suffix === undefined ? undefined : serviceTiers[suffix]
  if (name === undefined) return standard
  const rates = tiers.get(name) ?? noRates()
  tiers.set(name, rates)
  return rates
}

const inexact = 'is not a number with at most 15 whole digits and 6 decimals for a million tokens'

/** xAI's upper rates begin at the length itself. */
const promptTokensAbove = (thousands: string, { litellm_provider: provider }: Entry): number =>
  Number(thousands) * 1_000 - (provider === 'xai' ? 1 : 0)

const readRate = (reading: Reading, field: string, value: unknown, entry: Entry): boolean => {
  const [, name = field, thousands, suffix] = rateField.exec(field) ?? []
  const item = rateItems.get(name)
  if (item === undefined) return false
  const rate = usdOf(value, millionDigits)
  if (rate === null || !isExactPerToken(rate)) {
    reading.unsupported.push({ field, reason: inexact })
    return true
  }
  const rates = ratesOfTier(reading, suffix)
  if (thousands === undefined) rates.base[item] = rate
  else {
    const above = promptTokensAbove(thousands, entry)
    rates.tiers.set(above, { ...rates.tiers.get(above), [item]: rate })
  }
  return true
}

const flatPrice = (value: unknown): string | null => {
  const prices = isEntry(value) ? [...new Set(Object.values(value))] : []
  return prices.length === 1 ? usdOf(prices[0], 0) : null
}

const searchSizes = ['low', 'medium', 'high']

const pricesBySize = (value: unknown): Readonly<Record<string, string>> | null => {
  const prices = searchSizes.map((size) => [
    `web_search_${size}`,
    usdOf(isEntry(value) ? value[`search_context_size_${size}`] : null, 0),
  ])
  return prices.some(([, price]) => price === null) ? null : Object.fromEntries(prices)
}

const searchModel = /search-(?:preview|api)/

type ToolPrices = Readonly<Record<string, string | null>>

/** Of `web_search_preview`, or of a search model by context size; also of `web_search` if the model reasons. */
const openaiSearchPrices = (value: unknown, name: string, { supports_reasoning }: Entry): ToolPrices | null => {
  if (searchModel.test(name)) return pricesBySize(value)
  const price = flatPrice(value)
  return { web_search_preview: price, ...(supports_reasoning === true ? { web_search: price } : {}) }
}

const toolPricesOf = (field: string, value: unknown, name: string, entry: Entry): ToolPrices | null => {
  const { litellm_provider: provider } = entry
  if (field === 'search_context_cost_per_query') {
    if (provider === 'openai') return openaiSearchPrices(value, name, entry)
    return provider === 'anthropic' || provider === 'xai' ? { web_search: flatPrice(value) } : null
  }
  if (provider !== 'openai') return null
  if (field === 'code_interpreter_cost_per_session') return { code_interpreter: usdOf(value, 0) }
  return field === 'file_search_cost_per_1k_calls' ? { file_search: usdOf(value, -3) } : null
}

const readTool = (reading: Reading, field: string, value: unknown, name: string, entry: Entry): boolean => {
  const prices = Object.entries(toolPricesOf(field, value, name, entry) ?? {})
  if (prices.length === 0 || prices.some(([, price]) => price === null)) return false
  Object.assign(reading.perCall, Object.fromEntries(prices))
  return true
}

/** `us` is a region; `fast` a way to serve that is never asked for. */
const readMultipliers = (reading: Reading, field: string, value: unknown): void => {
  for (const [member, factor] of Object.entries(isEntry(value) ? value : {})) {
    const path = `${field}.${member}`
    const multiplier = usdOf(factor, 0)
    if (member === 'us' && multiplier !== null) reading.regionMultipliers[member] = multiplier
    else if (member === 'fast') reading.leftOut.push({ field: path, reason: 'fast inference is not offered' })
    else reading.unsupported.push({ field: path, reason: 'cannot be expressed in a sheet' })
  }
}

const isEmbedding = ({ mode }: Entry): boolean => mode === 'embedding'

const beyondText = /_(?:audio|image|video)(?:_|$)/

const isSilent = (value: unknown): boolean => value === null || value === 0

const readUnknown = (reading: Reading, field: string): void => {
  const reason = ignorable.get(field)
  if (reason !== undefined) reading.leftOut.push({ field, reason })
  else if (priceField.test(field)) reading.unsupported.push({ field, reason: 'cannot be expressed in a sheet' })
  else if (!descriptive.has(field))
    reading.leftOut.push({ field, reason: 'is not known; it does not look like a price' })
}

const readField = (reading: Reading, field: string, value: unknown, name: string, entry: Entry): void => {
  if (isEmbedding(entry) && priceField.test(field) && beyondText.test(field)) {
    reading.leftOut.push({ field, reason: 'only text is embedded here' })
    return
  }
  if (readRate(reading, field, value, entry) || readTool(reading, field, value, name, entry)) return
  if (field === 'provider_specific_entry') readMultipliers(reading, field, value)
  else if (!isSilent(value) && (priceField.test(field) || typeof value === 'number' || typeof value === 'object'))
    readUnknown(reading, field)
}

/** A rate for an item that costs what it is a kind of, however long the prompt and whatever the service tier. */
const kinds: readonly (readonly [item: keyof Rates, kind: keyof Rates])[] = [
  ['reasoning', 'output'],
  ['audio_output', 'output'],
  ['image_output', 'output'],
  ['audio_input', 'input'],
  ['image_input', 'input'],
]

const dropRedundantRates = ({ standard, serviceTiers: tiers }: Reading): void => {
  const all = [standard, ...tiers.values()].flatMap(({ base, tiers: long }) => [base, ...long.values()])
  for (const [item, kind] of kinds)
    if (all.every((rates) => (rates[item] ?? rates[kind]) === rates[kind])) for (const rates of all) delete rates[item]
}

const cacheWrites = ['cache_write_5m', 'cache_write_1h', 'cache_write_12h'] as const

const dropCheapWritesIn = (rates: SomeRates, where: string, leftOut: SkippedPrice[]): void => {
  const { input = '0' } = rates
  for (const item of cacheWrites) {
    const rate = rates[item]
    if (rate === undefined || parseUsd(rate) >= parseUsd(input)) continue
    delete rates[item]
    leftOut.push({
      field: `${item}${where}`,
      reason: 'is below that of input: what is written to a cache is charged as input',
    })
  }
}

/** The table has 0, or the rate of a read, where a provider charges nothing beside the input: estimates would be free. */
const dropCheapWrites = ({ standard, serviceTiers: named, leftOut }: Reading): void => {
  for (const [tier, { base, tiers }] of [['', standard] as const, ...named]) {
    const suffix = tier === '' ? '' : ` of service tier ${tier}`
    dropCheapWritesIn(base, suffix, leftOut)
    for (const [above, rates] of tiers) dropCheapWritesIn(rates, ` above ${above} tokens${suffix}`, leftOut)
  }
}

const gapsOf = (present: SomeRates, priced: SomeRates): readonly string[] =>
  Object.keys(present).filter((item) => !Object.hasOwn(priced, item))

/** What prices a short prompt must price a long one too: in a tier, no item falls back to another item's rate. */
const missingInTiers = ({ base, tiers }: ReadRates): readonly SkippedPrice[] =>
  [...tiers].flatMap(([above, tier]) =>
    gapsOf({ input: '', output: '', ...base }, tier).map((item) => ({
      field: `${item} above ${above} tokens`,
      reason: 'is missing: shorter prompts have it',
    })),
  )

const missingInServiceTier = (standard: ReadRates, rates: ReadRates): readonly string[] => [
  ...gapsOf({ input: '', output: '', ...standard.base }, rates.base),
  ...[...standard.tiers].flatMap(([above, tier]) =>
    gapsOf(tier, rates.tiers.get(above) ?? {}).map((item) => `${item} above ${above} tokens`),
  ),
  ...missingInTiers(rates).map(({ field }) => field),
]

/** A service tier that is left out is never asked for. */
const dropPartialServiceTiers = ({ standard, serviceTiers: tiers, leftOut }: Reading): void => {
  for (const [name, rates] of tiers) {
    const missing = new Set(missingInServiceTier(standard, rates))
    if (missing.size === 0) continue
    tiers.delete(name)
    leftOut.push({ field: `service tier ${name}`, reason: `has no price of ${[...missing].join(', ')}` })
  }
}

const readFields = (name: string, entry: Entry): Reading => {
  const reading: Reading = {
    standard: noRates(),
    serviceTiers: new Map(),
    perCall: {},
    regionMultipliers: {},
    leftOut: [],
    unsupported: [],
  }
  for (const [field, value] of Object.entries(entry)) readField(reading, field, value, name, entry)
  if (isEmbedding(entry)) reading.standard.base.output ??= '0'
  dropRedundantRates(reading)
  dropCheapWrites(reading)
  dropPartialServiceTiers(reading)
  return reading
}

const lengthRatesOf = ({ base, tiers }: ReadRates): LengthRates => ({
  per_million_tokens: base as Rates,
  ...(tiers.size === 0
    ? {}
    : {
        tiers: [...tiers]
          .toSorted(([one], [other]) => one - other)
          .map(([above, rates]) => ({ prompt_tokens_above: above, per_million_tokens: rates as Rates })),
      }),
})

const servedModes: ReadonlySet<unknown> = new Set(['chat', 'responses', 'completion', 'embedding'])

const missingRates = ({ standard: { base } }: Reading): readonly SkippedPrice[] => [
  ...(base.input === undefined ? [{ field: 'input_cost_per_token', reason: 'is missing' }] : []),
  ...(base.output === undefined ? [{ field: 'output_cost_per_token', reason: 'is missing' }] : []),
]

const isFree = ({ standard: { base } }: Reading): boolean => base.input === '0' && base.output === '0'

const problemsOf = (entry: Entry, reading: Reading, allowFree: boolean): readonly SkippedPrice[] => {
  const { mode, max_output_tokens: most } = entry
  return [
    ...(servedModes.has(mode) ? [] : [{ field: 'mode', reason: `${JSON.stringify(mode)} is not served here` }]),
    ...missingRates(reading),
    ...(isFree(reading) && !allowFree
      ? [
          {
            field: 'input_cost_per_token',
            reason: 'is 0, and output 0: a free model is imported where that is allowed',
          },
        ]
      : []),
    ...(isEmbedding(entry) || (Number.isSafeInteger(most) && Number(most) >= 1)
      ? []
      : [{ field: 'max_output_tokens', reason: 'is missing: it sizes reservations' }]),
    ...missingInTiers(reading.standard),
    ...reading.unsupported,
  ]
}

const isEmpty = (members: object): boolean => Object.keys(members).length === 0

const sheetOf = (entry: Entry, reading: Reading): PriceSheet => {
  const { standard, serviceTiers: tiers, regionMultipliers, perCall } = reading
  return {
    currency: 'USD',
    ...lengthRatesOf(standard),
    ...(tiers.size === 0
      ? {}
      : { service_tiers: Object.fromEntries([...tiers].map(([name, rates]) => [name, lengthRatesOf(rates)])) }),
    ...(isEmpty(regionMultipliers) ? {} : { region_multipliers: regionMultipliers }),
    ...(isEmpty(perCall) ? {} : { per_call: perCall }),
    max_output_tokens: isEmbedding(entry) ? 0 : Number(entry['max_output_tokens']),
  }
}

/** Only rows with a provider are prices. */
export const isProviderName = (entry: unknown): boolean =>
  isEntry(entry) && typeof entry['litellm_provider'] === 'string'

/** Our `<provider>/<model>`; null where the provider is not one of ours. */
const modelOf = (name: string, { litellm_provider: theirs }: Entry, providers: ReadonlySet<string>): string | null => {
  if (typeof theirs !== 'string') return null
  const ours = [theirs, providerNames[theirs] ?? theirs].find((provider) => providers.has(provider))
  const prefix = `${theirs.startsWith('vertex_ai') ? 'vertex_ai' : theirs}/`
  return ours === undefined ? null : `${ours}/${name.startsWith(prefix) ? name.slice(prefix.length) : name}`
}

const readEntry = (name: string, entry: Entry, { providers, allowFree }: ImportScope): ImportedPrice => {
  const model = modelOf(name, entry, providers)
  if (model === null) {
    const reason = isProviderName(entry) ? 'names no provider that is configured here' : 'is missing'
    return { name, model, unsupported: [{ field: 'litellm_provider', reason }] }
  }
  const reading = readFields(name, entry)
  const unsupported = problemsOf(entry, reading, allowFree)
  if (unsupported.length > 0) return { name, model, unsupported }
  return { name, model, sheet: sheetOf(entry, reading), leftOut: reading.leftOut }
}

/** LiteLLM's description of an entry, which is itself an entry of the table. */
const description = 'sample_spec'

const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * LiteLLM's `model_prices_and_context_window.json`, parsed: each price field is expressed exactly, listed as left out
 * where that does no harm, or makes its entry unsupported; nothing is guessed, and nothing rounded.
 */
export const readLiteLlm = (table: Entry, scope: ImportScope): readonly ImportedPrice[] => {
  const named = new Map<string, string>()
  return Object.entries(table).flatMap(([name, entry]): readonly ImportedPrice[] => {
    if (name === description) return []
    if (!isEntry(entry)) return [{ name, model: null, unsupported: [{ field: '', reason: 'is no object' }] }]
    const read = readEntry(name, entry, scope)
    if (!('sheet' in read)) return [read]
    const first = named.get(read.model)
    if (first === undefined) named.set(read.model, name)
    return first === undefined
      ? [read]
      : [{ name, model: read.model, unsupported: [{ field: '', reason: `names the same model as ${first}` }] }]
  })
}
