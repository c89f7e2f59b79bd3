import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, objectOf, textOf } from '../../json.ts'
import type { Asked, Target } from '../dialect.ts'
import type { Profile } from '../provider.ts'

type ToolCalls = Usage['toolCalls']

/** A figure as a count: whole, zero or above; undefined where it is none, and is counted instead. */
const countOf = (value: unknown): number | undefined => {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  const whole = Math.trunc(value)
  return Number.isSafeInteger(whole) && whole >= 0 ? whole : undefined
}

interface Figures {
  readonly prompt: number
  readonly completion: number
  /** What the total leaves for the output; undefined where no total is told. */
  readonly beyondPrompt: number | undefined
  readonly reasoning: number | undefined
}

interface OutputFigures {
  readonly total: number
  readonly reasoning: number
}

const outputOf: { readonly [P in Profile]: (figures: Figures) => OutputFigures } = {
  openai: ({ completion, reasoning = 0 }) => ({ total: completion, reasoning }),
  // The completion leaves reasoning out, the total has it.
  xai: ({ completion, beyondPrompt, reasoning = 0 }) => ({
    total: Math.max(completion, beyondPrompt ?? completion + reasoning),
    reasoning,
  }),
  // Thinking may be told nowhere but in the total.
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
  const reasoning = countOf(objectOf(raw['completion_tokens_details'])['reasoning_tokens'])
  return { prompt, completion, beyondPrompt, reasoning }
}

const part = (details: JsonObject, name: string): number => countOf(details[name]) ?? 0

/** What a provider reports, in the one shape that is priced; null where it is no usage. */
export const readUsage = (raw: unknown, profile: Profile, toolCalls: ToolCalls = {}): Usage | null => {
  const figures = isObject(raw) ? figuresOf(raw) : null
  if (!isObject(raw) || figures === null) return null
  const input = objectOf(raw['prompt_tokens_details'])
  const output = objectOf(raw['completion_tokens_details'])
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

const serverTools = ['web_search', 'x_search', 'code_interpreter', 'file_search', 'document_search', 'image_generation']

const serverToolCalls = (raw: JsonObject): ToolCalls => {
  const details = objectOf(raw['server_side_tool_usage_details'])
  const counted = serverTools.map((tool) => [tool, part(details, `${tool}_calls`)] as const)
  return Object.fromEntries(counted.filter(([, calls]) => calls > 0))
}

const searchModel = /search-(?:preview|api)/
const contextSizes = ['low', 'medium', 'high']

export const isSearchModel = (upstreamModel: string): boolean => searchModel.test(upstreamModel)

/** A search model searches once for each request, at a price by context size: medium where none is named. */
export const searchCallsOf = ({ upstreamModel, sheet }: Target, contextSize: string | null): ToolCalls => {
  if (!isSearchModel(upstreamModel)) return {}
  const item = `web_search_${contextSize ?? 'medium'}`
  return sheet.per_call !== undefined && Object.hasOwn(sheet.per_call, item) ? { [item]: 1 } : {}
}

export const searchCalls = (target: Target, { body }: Asked): ToolCalls => {
  const asked = textOf(objectOf(body['web_search_options'])['search_context_size'])
  return searchCallsOf(target, contextSizes.includes(asked) ? asked : null)
}

/** The same figures as a chat client reads them. */
export const usageOnWire = (usage: Usage): JsonObject => ({
  prompt_tokens: usage.promptTotal,
  completion_tokens: usage.outputTotal,
  total_tokens: usage.promptTotal + usage.outputTotal,
  prompt_tokens_details: { cached_tokens: usage.cacheRead },
  completion_tokens_details: { reasoning_tokens: usage.outputReasoning },
})
