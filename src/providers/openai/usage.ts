import type { ServedWith } from '../../domain/pricing/charge.ts'
import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { type Profile, providerCapabilities } from '../dialect/provider.ts'
import { countOf, readNegativeFigures, tokensOf } from '../dialect/reported-usage.ts'

/** xAI counts the successful calls of its tools in the usage, under these names. */
const serverTools = ['web_search', 'x_search', 'code_interpreter', 'file_search', 'document_search', 'image_generation']

export const serverToolCalls = ({ server_side_tool_usage_details: details }: JsonObject): Usage['toolCalls'] | null => {
  if (!isObject(details)) return null
  const counted = serverTools.map((tool) => [tool, countOf(details[`${tool}_calls`]) ?? 0] as const)
  return Object.fromEntries(counted.filter(([, calls]) => calls > 0))
}

type ToolCalls = Usage['toolCalls']

interface Figures {
  readonly prompt: number
  readonly completion: number
  /** The part of the total that is not prompt; undefined where no total is reported. */
  readonly beyondPrompt: number | undefined
  readonly reasoning: number | undefined
}

interface OutputFigures {
  readonly total: number
  readonly reasoning: number
}

const outputOf: { readonly [P in Profile]: (figures: Figures) => OutputFigures } = {
  // Compatible upstreams may leave reasoning out of the completion, as xAI does, and cached tokens out of the prompt.
  openai: ({ completion, beyondPrompt = 0, reasoning = 0 }) => ({
    total: Math.max(completion, Math.min(beyondPrompt, completion + reasoning)),
    reasoning,
  }),
  // xAI's completion excludes reasoning, its total includes it.
  xai: ({ completion, beyondPrompt, reasoning = 0 }) => ({
    total: Math.max(completion, beyondPrompt ?? completion + reasoning),
    reasoning,
  }),
  // Thinking may be reported only in the total.
  gemini: ({ completion, beyondPrompt = 0, reasoning }) => {
    const total = Math.max(completion, beyondPrompt)
    return { total, reasoning: reasoning ?? total - completion }
  },
}

const figuresOf = (raw: JsonObject): Figures | null => {
  const prompt = tokensOf(raw['prompt_tokens'])
  const total = tokensOf(raw['total_tokens'])
  if (prompt === undefined) return null
  const beyondPrompt = total === undefined ? undefined : Math.max(0, total - prompt)
  const completion = tokensOf(raw['completion_tokens']) ?? beyondPrompt
  if (completion === undefined) return null
  const reasoning = tokensOf(asObject(raw['completion_tokens_details'])['reasoning_tokens'])
  return { prompt, completion, beyondPrompt, reasoning }
}

const part = (details: JsonObject, name: string): number => tokensOf(details[name]) ?? 0

/** The parts of the input, as chat completions and responses report them. */
export const readInputParts = (details: JsonObject) => {
  const cached = asObject(details['cached_tokens_details'])
  const cacheReadAudio = part(cached, 'audio_tokens')
  const cacheReadImage = part(cached, 'image_tokens')
  const cacheWrite = part(details, 'cache_write_tokens')
  const cacheWrite12h = Math.min(cacheWrite, part(asObject(details['cache_write_tokens_details']), 'ttl_12h_tokens'))
  return {
    cacheRead: part(details, 'cached_tokens'),
    cacheReadAudio,
    cacheReadImage,
    cacheWrite5m: cacheWrite - cacheWrite12h,
    cacheWrite12h,
    audio: Math.max(0, part(details, 'audio_tokens') - cacheReadAudio),
    image: Math.max(0, part(details, 'image_tokens') - cacheReadImage),
  }
}

/** DeepSeek's own name of what OpenAI reports as `cached_tokens`; some of its answers have it alone. */
const promptDetailsIn = (raw: JsonObject): JsonObject => ({
  cached_tokens: raw['prompt_cache_hit_tokens'],
  ...asObject(raw['prompt_tokens_details']),
})

interface ReportedBeside {
  readonly toolCalls?: ToolCalls
  readonly servedWith?: ServedWith | undefined
}

export const readChatUsage = (raw: unknown, profile: Profile, beside: ReportedBeside = {}): Usage | null => {
  const figures = isObject(raw) ? figuresOf(raw) : null
  if (!isObject(raw) || figures === null) return null
  const output = asObject(raw['completion_tokens_details'])
  const usage = usageOf(
    { total: figures.prompt, ...readInputParts(promptDetailsIn(raw)) },
    {
      ...outputOf[profile](figures),
      audio: part(output, 'audio_tokens'),
      image: part(output, 'image_tokens'),
    },
    { ...beside.toolCalls, ...(profile === 'xai' ? serverToolCalls(raw) : {}) },
  )
  return { ...usage, ...beside.servedWith, ...readNegativeFigures(raw) }
}

const searchModel = /search-(?:preview|api)/
const contextSizes = ['low', 'medium', 'high']
const searchField = 'web_search_options'
/** Their only cost is tokens. */
const callersTools: readonly string[] = ['function', 'custom']

export const isSearchModel = (upstreamModel: string): boolean => searchModel.test(upstreamModel)

const searchItemOf = (contextSize: string | null): string => `web_search_${contextSize ?? 'medium'}`

/** A search model searches once for each request, at a price by context size: medium where none is named. */
export const searchCallsOf = ({ upstreamModel }: Target, contextSize: string | null): ToolCalls =>
  isSearchModel(upstreamModel) ? { [searchItemOf(contextSize)]: 1 } : {}

const contextSizeOf = ({ body }: UpstreamCallRequest): string | null => {
  const size = asText(asObject(body[searchField])['search_context_size'])
  return contextSizes.includes(size) ? size : null
}

export const countChatSearchCalls = (target: Target, request: UpstreamCallRequest): ToolCalls =>
  searchCallsOf(target, contextSizeOf(request))

/** Throws `unsupported_parameter` with `param` where the model searches and the sheet does not price it. */
export const refuseUnpricedSearch = (target: Target, contextSize: string | null, param: string): void => {
  const { upstreamModel, sheet } = target
  if (isSearchModel(upstreamModel) && !Object.hasOwn(sheet.per_call ?? {}, searchItemOf(contextSize)))
    throw unsupported(param, 'asks for a web search, which has no published price for this model')
}

/** Aggregators charge for them by request, and do not report it in the usage. */
const chargedMembers: readonly string[] = ['plugins', 'enable_search']

const isAskedFor = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

/** Throws `unsupported_parameter` for a member that costs money beside the tokens, unless the provider's operator pays for it. */
export const refuseChargedMembers = ({ provider }: Target, body: JsonObject): void => {
  const { allow_members } = providerCapabilities(provider)
  for (const member of chargedMembers)
    if (isAskedFor(body[member]) && !allow_members.includes(member))
      throw unsupported(
        member,
        `costs money beside the tokens, and has no price here. An operator can permit it with \`capabilities.allow_members\` of the provider \`${provider.name}\``,
      )
}

/** As `refuseUnpricedSearch`, and with the tool's path for a tool of the provider that has no price. */
export const refuseUnpricedChatTools = (target: Target, request: UpstreamCallRequest): void => {
  refuseUnpricedSearch(target, contextSizeOf(request), isObject(request.body[searchField]) ? searchField : 'model')
  refuseChargedMembers(target, request.body)
  for (const [index, tool] of asArray(request.body['tools']).entries()) {
    const type = asText(asObject(tool)['type'])
    if (!callersTools.includes(type) && !Object.hasOwn(target.sheet.per_call ?? {}, type))
      throw unsupported(`tools[${index}].type`, 'is a tool without a published price for this model')
  }
}

/** Whether the client of a stream asked for a chunk with its usage. */
export const wantsUsage = ({ stream_options }: JsonObject): boolean =>
  asObject(stream_options)['include_usage'] === true

export const chatUsageOnWire = (usage: Usage): JsonObject => ({
  prompt_tokens: usage.promptTotal,
  completion_tokens: usage.outputTotal,
  total_tokens: usage.promptTotal + usage.outputTotal,
  prompt_tokens_details: { cached_tokens: usage.cacheRead },
  completion_tokens_details: { reasoning_tokens: usage.outputReasoning },
})
