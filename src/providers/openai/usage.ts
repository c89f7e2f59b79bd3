import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { unsupported } from '../canonical/refuse.ts'
import { countOf } from '../count.ts'
import type { Target, UpstreamCallRequest } from '../dialect.ts'
import type { Profile } from '../provider.ts'
import { serverToolCalls } from './server-tools.ts'

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
  openai: ({ completion, reasoning = 0 }) => ({ total: completion, reasoning }),
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
  const prompt = countOf(raw['prompt_tokens'])
  const total = countOf(raw['total_tokens'])
  if (prompt === undefined) return null
  const beyondPrompt = total === undefined ? undefined : Math.max(0, total - prompt)
  const completion = countOf(raw['completion_tokens']) ?? beyondPrompt
  if (completion === undefined) return null
  const reasoning = countOf(asObject(raw['completion_tokens_details'])['reasoning_tokens'])
  return { prompt, completion, beyondPrompt, reasoning }
}

const part = (details: JsonObject, name: string): number => countOf(details[name]) ?? 0

export const readChatUsage = (raw: unknown, profile: Profile, toolCalls: ToolCalls = {}): Usage | null => {
  const figures = isObject(raw) ? figuresOf(raw) : null
  if (!isObject(raw) || figures === null) return null
  const input = asObject(raw['prompt_tokens_details'])
  const output = asObject(raw['completion_tokens_details'])
  return usageOf(
    {
      total: figures.prompt,
      cacheRead: part(input, 'cached_tokens'),
      cacheWrite5m: part(input, 'cache_write_tokens'),
      audio: part(input, 'audio_tokens'),
      image: part(input, 'image_tokens'),
    },
    {
      ...outputOf[profile](figures),
      audio: part(output, 'audio_tokens'),
      image: part(output, 'image_tokens'),
    },
    { ...toolCalls, ...(profile === 'xai' ? serverToolCalls(raw) : {}) },
  )
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
  const asked = asText(asObject(body[searchField])['search_context_size'])
  return contextSizes.includes(asked) ? asked : null
}

export const countChatSearchCalls = (target: Target, asked: UpstreamCallRequest): ToolCalls =>
  searchCallsOf(target, contextSizeOf(asked))

/** Throws `unsupported_parameter` with `param` where the model searches and the sheet does not price it. */
export const refuseUnpricedSearch = (target: Target, contextSize: string | null, param: string): void => {
  const { upstreamModel, sheet } = target
  if (isSearchModel(upstreamModel) && !Object.hasOwn(sheet.per_call ?? {}, searchItemOf(contextSize)))
    throw unsupported(param, 'asks for a web search, which has no published price for this model')
}

/** As `refuseUnpricedSearch`, and with the tool's path for a tool of the provider that has no price. */
export const refuseUnpricedChatTools = (target: Target, asked: UpstreamCallRequest): void => {
  refuseUnpricedSearch(target, contextSizeOf(asked), isObject(asked.body[searchField]) ? searchField : 'model')
  for (const [index, tool] of asArray(asked.body['tools']).entries()) {
    const type = asText(asObject(tool)['type'])
    if (!callersTools.includes(type) && !Object.hasOwn(target.sheet.per_call ?? {}, type))
      throw unsupported(`tools[${index}].type`, 'is a tool without a published price for this model')
  }
}

export const chatUsageOnWire = (usage: Usage): JsonObject => ({
  prompt_tokens: usage.promptTotal,
  completion_tokens: usage.outputTotal,
  total_tokens: usage.promptTotal + usage.outputTotal,
  prompt_tokens_details: { cached_tokens: usage.cacheRead },
  completion_tokens_details: { reasoning_tokens: usage.outputReasoning },
})
