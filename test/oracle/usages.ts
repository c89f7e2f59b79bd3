import type { JsonObject } from '../../src/encoding/json.ts'
import type { PriceSheet } from '../../src/events/types.ts'

/** The wire format of the answer, as the provider of the model has it. */
export type Flavor = 'chat' | 'responses' | 'messages' | 'gemini' | 'converse'

export interface OracleModel {
  /** Its name in LiteLLM's table. */
  readonly name: string
  readonly provider: 'openai' | 'anthropic' | 'google' | 'xai' | 'azure' | 'vertex' | 'bedrock'
  readonly sheet: PriceSheet
  /** USD of a web search in LiteLLM's table; null where it has none. */
  readonly searchUsd: string | null
  /** LiteLLM's table counts each query, and not the answer that searched. */
  readonly searchesByQuery: boolean
}

/** A usage as a provider reports it, and what it reports beside it. */
export interface OracleCase {
  readonly model: OracleModel
  readonly flavor: Flavor
  readonly usage: JsonObject
  readonly tier: string | null
  /** Web searches that the answer made. */
  readonly searches: number
  /** Calls of other built-in tools, by the item that is billed: of a code interpreter of OpenAI its containers. */
  readonly calls: Readonly<Record<string, number>>
}

export type Random = () => number

/** The same sequence for the same seed. */
const createRandom = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)]!
const upTo = (random: Random, most: number): number => Math.floor(random() * (most + 1))
const sometimes = (random: Random, most: number, chance = 0.4): number => (random() < chance ? upTo(random, most) : 0)

/** Short and long prompts, and those at the very length where the rates change. */
const promptTokens = (random: Random, { tiers = [] }: PriceSheet): number => {
  const lengths = tiers.flatMap(({ prompt_tokens_above: above }) => [above, above + 1, above * 2])
  if (lengths.length > 0 && random() < 0.3) return pick(random, lengths)
  return Math.max(1, Math.floor(10 ** (random() * 5.3)))
}

interface Parts {
  readonly prompt: number
  readonly cached: number
  readonly written: number
  readonly writtenLong: number
  readonly audio: number
  readonly image: number
  readonly cachedAudio: number
  readonly output: number
  readonly reasoning: number
  readonly outputAudio: number
}

/** Parts never exceed their whole: what overlaps is read in the tests of the readers. */
const partsOf = (random: Random, sheet: PriceSheet): Parts => {
  const rates = sheet.per_million_tokens
  const prompt = promptTokens(random, sheet)
  const cached = rates.cached_input === undefined ? 0 : sometimes(random, prompt)
  const written = rates.cache_write_5m === undefined ? 0 : sometimes(random, prompt - cached)
  const audio = rates.audio_input === undefined ? 0 : sometimes(random, prompt - cached - written)
  const image = rates.image_input === undefined ? 0 : sometimes(random, prompt - cached - written - audio)
  const output = upTo(random, 8_000)
  const outputAudio = rates.audio_output === undefined ? 0 : sometimes(random, output)
  return {
    prompt,
    cached,
    written,
    writtenLong: sometimes(random, written),
    audio,
    image,
    cachedAudio: rates.audio_input === undefined ? 0 : sometimes(random, cached),
    output,
    reasoning: sometimes(random, output - outputAudio),
    outputAudio,
  }
}

const cachedDetails = ({ cached, cachedAudio }: Parts): JsonObject =>
  cachedAudio === 0
    ? {}
    : { cached_tokens_details: { text_tokens: cached - cachedAudio, audio_tokens: cachedAudio, image_tokens: 0 } }

const writeDetails = ({ written, writtenLong }: Parts, sheet: PriceSheet): JsonObject =>
  written === 0
    ? {}
    : {
        cache_write_tokens: written,
        ...(sheet.per_million_tokens.cache_write_12h === undefined
          ? {}
          : {
              cache_write_tokens_details: { ttl_30m_tokens: written - writtenLong, ttl_12h_tokens: writtenLong },
            }),
      }

/** xAI's completion leaves reasoning out, its total has it. */
const chatUsage = (parts: Parts, { provider, sheet }: OracleModel): JsonObject => ({
  prompt_tokens: parts.prompt,
  completion_tokens: provider === 'xai' ? parts.output - parts.reasoning : parts.output,
  total_tokens: parts.prompt + parts.output,
  prompt_tokens_details: {
    cached_tokens: parts.cached,
    ...cachedDetails(parts),
    ...writeDetails(parts, sheet),
    audio_tokens: parts.audio + parts.cachedAudio,
    image_tokens: parts.image,
  },
  completion_tokens_details: { reasoning_tokens: parts.reasoning, audio_tokens: parts.outputAudio },
})

const responsesUsage = (parts: Parts, { sheet }: OracleModel): JsonObject => ({
  input_tokens: parts.prompt,
  input_tokens_details: {
    cached_tokens: parts.cached,
    ...cachedDetails(parts),
    ...writeDetails(parts, sheet),
    audio_tokens: parts.audio + parts.cachedAudio,
    image_tokens: parts.image,
  },
  output_tokens: parts.output,
  output_tokens_details: { reasoning_tokens: parts.reasoning, audio_tokens: parts.outputAudio },
  total_tokens: parts.prompt + parts.output,
})

const messagesUsage = (parts: Parts, region: string): JsonObject => ({
  input_tokens: parts.prompt - parts.cached - parts.written,
  cache_read_input_tokens: parts.cached,
  cache_creation_input_tokens: parts.written,
  cache_creation: {
    ephemeral_5m_input_tokens: parts.written - parts.writtenLong,
    ephemeral_1h_input_tokens: parts.writtenLong,
  },
  output_tokens: parts.output,
  output_tokens_details: { thinking_tokens: parts.reasoning },
  service_tier: 'standard',
  inference_geo: region,
})

/** Without what was read from the cache and written to it in the input. */
const converseUsage = ({ prompt, cached, written, writtenLong, output }: Parts): JsonObject => ({
  inputTokens: prompt - cached - written,
  outputTokens: output,
  totalTokens: prompt + output,
  cacheReadInputTokens: cached,
  cacheWriteInputTokens: written,
  cacheDetails: [
    { ttl: '5m', inputTokens: written - writtenLong },
    { ttl: '1h', inputTokens: writtenLong },
  ].filter(({ inputTokens }) => inputTokens > 0),
})

const modality = (name: string, tokenCount: number) => (tokenCount === 0 ? [] : [{ modality: name, tokenCount }])

const geminiUsage = (parts: Parts): JsonObject => {
  const { prompt, cached, cachedAudio, audio, image, output, reasoning } = parts
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: prompt + output,
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
    promptTokensDetails: [
      ...modality('TEXT', prompt - audio - cachedAudio - image),
      ...modality('AUDIO', audio + cachedAudio),
      ...modality('IMAGE', image),
    ],
    candidatesTokensDetails: [...modality('TEXT', output - reasoning)],
    ...(cached === 0
      ? {}
      : {
          cachedContentTokenCount: cached,
          cacheTokensDetails: [...modality('TEXT', cached - cachedAudio), ...modality('AUDIO', cachedAudio)],
        }),
  }
}

/** Those of other providers are not asked for. */
const tieredProviders: readonly OracleModel['provider'][] = ['openai', 'google', 'xai', 'azure']

const tierOf = (random: Random, { provider, sheet }: OracleModel): string | null => {
  const priced = Object.keys(sheet.service_tiers ?? {}).filter((tier) => tier !== 'batch')
  return !tieredProviders.includes(provider) || priced.length === 0 || random() < 0.5 ? null : pick(random, priced)
}

/** The tool that a request declares for a search, as far as it has a price. */
export const searchToolOf = ({ sheet: { per_call: prices = {} } }: OracleModel): string | null =>
  ['web_search', 'web_search_preview'].find((tool) => Object.hasOwn(prices, tool)) ?? null

const searchesMax = 5
const callsMax = 4

/** OpenAI reports them in responses alone, Google charges them by its own names. */
const searchesOf = (random: Random, model: OracleModel, flavor: Flavor): number => {
  const { provider, searchUsd } = model
  const searches = sometimes(random, searchesMax)
  const isPriced = provider === 'google' ? searchUsd !== null : searchToolOf(model) !== null
  return isPriced && (provider !== 'openai' || flavor === 'responses') ? searches : 0
}

/** Those whose calls an answer shows: OpenAI's in the output of a response, xAI's in the usage. */
const toolsOf = ({ provider }: OracleModel, flavor: Flavor): readonly string[] => {
  if (provider === 'xai') return ['x_search', 'code_interpreter', 'file_search', 'document_search']
  return provider === 'openai' && flavor === 'responses' ? ['file_search', 'code_interpreter'] : []
}

const callsOf = (random: Random, model: OracleModel, flavor: Flavor): OracleCase['calls'] =>
  Object.fromEntries(
    toolsOf(model, flavor)
      .filter((tool) => Object.hasOwn(model.sheet.per_call ?? {}, tool))
      .map((tool) => [tool, sometimes(random, callsMax)] as const)
      .filter(([, calls]) => calls > 0),
  )

/** As Anthropic and xAI report the calls of tools in the usage. */
const callsInUsage = ({ provider }: OracleModel, searches: number, calls: OracleCase['calls']): JsonObject => {
  if (provider === 'anthropic') return searches === 0 ? {} : { server_tool_use: { web_search_requests: searches } }
  if (provider !== 'xai' || searches + Object.keys(calls).length === 0) return {}
  const others = Object.fromEntries(Object.entries(calls).map(([tool, count]) => [`${tool}_calls`, count]))
  return { server_side_tool_usage_details: { ...(searches === 0 ? {} : { web_search_calls: searches }), ...others } }
}

/** Clouds sell Claude in its own format. */
const flavorsOf = ({ name, provider }: OracleModel): readonly Flavor[] => {
  switch (provider) {
    case 'openai':
    case 'azure':
    case 'xai':
      return ['chat', 'responses']
    case 'anthropic':
      return ['messages']
    case 'google':
      return ['gemini']
    case 'vertex':
      return name.includes('claude') ? ['messages'] : ['gemini']
    case 'bedrock':
      return name.includes('anthropic.') ? ['messages'] : ['converse']
  }
}

/** Each of its own, so that the others stay those of the seed. */
export interface Draws {
  readonly tokens: Random
  readonly searches: Random
  readonly calls: Random
}

export const createDraws = (seed: number): Draws => ({
  tokens: createRandom(seed),
  searches: createRandom(seed + 1),
  calls: createRandom(seed + 2),
})

export const createCase = (draws: Draws, models: readonly OracleModel[]): OracleCase => {
  const { tokens: random } = draws
  const model = pick(random, models)
  const flavor = pick(random, flavorsOf(model))
  const parts = partsOf(random, model.sheet)
  const tier = tierOf(random, model)
  const region = model.sheet.region_multipliers !== undefined && random() < 0.3 ? 'us' : 'global'
  const usage: { readonly [F in Flavor]: () => JsonObject } = {
    chat: () => chatUsage(parts, model),
    responses: () => responsesUsage(parts, model),
    messages: () => messagesUsage(parts, region),
    gemini: () => ({ ...geminiUsage(parts), serviceTier: tier ?? 'standard' }),
    converse: () => converseUsage(parts),
  }
  const searches = searchesOf(draws.searches, model, flavor)
  const calls = callsOf(draws.calls, model, flavor)
  return {
    model,
    flavor,
    usage: { ...usage[flavor](), ...callsInUsage(model, searches, calls) },
    tier,
    searches,
    calls,
  }
}
