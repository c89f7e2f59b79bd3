import type { ServedWith } from '../../domain/pricing/charge.ts'
import { cacheWriteOf, type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { countWebSearches, readNegativeFigures, readServedWith } from '../dialect/reported-usage.ts'

/** Tokens of one sampling, or of several together; NaN where the provider reports no whole number. */
interface Tokens {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
  readonly output: number
}

const noTokens: Tokens = { input: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 }

const required = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) ? Math.max(0, value) : Number.NaN

const optional = (value: unknown): number => (value === undefined || value === null ? 0 : required(value))

/** The part of the total that the split leaves out was cached for five minutes. */
const tokensOf = (raw: JsonObject): Tokens => {
  const split = asObject(raw['cache_creation'])
  const reported1h = optional(split['ephemeral_1h_input_tokens'])
  const total = raw['cache_creation_input_tokens']
  const isTotalAbsent = total === undefined || total === null
  const written = isTotalAbsent ? optional(split['ephemeral_5m_input_tokens']) + reported1h : required(total)
  const cacheWrite1h = Math.min(reported1h, written)
  return {
    input: required(raw['input_tokens']),
    cacheRead: optional(raw['cache_read_input_tokens']),
    cacheWrite5m: written - cacheWrite1h,
    cacheWrite1h,
    output: required(raw['output_tokens']),
  }
}

const add = (one: Tokens, other: Tokens): Tokens => ({
  input: one.input + other.input,
  cacheRead: one.cacheRead + other.cacheRead,
  cacheWrite5m: one.cacheWrite5m + other.cacheWrite5m,
  cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
  output: one.output + other.output,
})

const isBeside = (iteration: JsonObject): boolean =>
  iteration['type'] === 'compaction' || iteration['type'] === 'advisor_message'

/** Each sampling that is billed: the iterations, and the totals of the answer where the iterations leave it out. */
const samplingsOf = (raw: JsonObject): readonly Tokens[] => {
  const iterations = asArray(raw['iterations']).filter(isObject)
  const answered = iterations.every(isBeside) ? [raw] : []
  return [...answered, ...iterations].map(tokensOf)
}

const promptOf = ({ input, cacheRead, cacheWrite5m, cacheWrite1h }: Tokens): number =>
  input + cacheRead + cacheWrite5m + cacheWrite1h

/** Each sampling is a request to the model: all are charged, but the longest prompt decides at which rates. */
const largestOf = (samplings: readonly Tokens[]): Pick<Usage, 'promptLargest'> =>
  samplings.length > 1 ? { promptLargest: Math.max(...samplings.map(promptOf)) } : {}

/** Fast inference has a price of its own, like a service tier. */
const servedWithOf = ({ service_tier, speed, inference_geo }: JsonObject): ServedWith =>
  readServedWith(speed === 'fast' ? speed : service_tier, inference_geo)

/** Null where it is no usage, or an impossible one. */
export const readMessagesUsage = (raw: unknown): Usage | null => {
  if (!isObject(raw)) return null
  const samplings = samplingsOf(raw)
  const tokens = samplings.reduce(add, noTokens)
  const { cacheRead, cacheWrite5m, cacheWrite1h, output } = tokens
  const prompt = promptOf(tokens)
  const searches = optional(asObject(raw['server_tool_use'])['web_search_requests'])
  const negatives = readNegativeFigures(raw)
  // No request has an empty prompt.
  const isEmpty = prompt === 0 && negatives.negative === undefined
  if (!Number.isSafeInteger(prompt + output + searches) || isEmpty) return null
  const thinking = optional(asObject(raw['output_tokens_details'])['thinking_tokens'])
  const usage = usageOf(
    { total: prompt, cacheRead, cacheWrite5m, cacheWrite1h },
    { total: output, reasoning: Number.isNaN(thinking) ? 0 : thinking },
    searches > 0 ? { web_search: searches } : {},
  )
  return { ...usage, ...largestOf(samplings), ...servedWithOf(raw), ...negatives }
}

/** Before its end a stream reports the input. The output figure of its start is not billed. */
export const readUsageSoFar = (raw: unknown): Usage | null => {
  const reported = readMessagesUsage({ ...asObject(raw), output_tokens: 0 })
  return reported === null ? null : { ...reported, outputTotal: 0, outputReasoning: 0 }
}

/** True for the end of a stream that reports its output, and so its whole usage. */
export const hasOutputTokens = ({ usage }: JsonObject): boolean => typeof asObject(usage)['output_tokens'] === 'number'

/** Later figures are for the whole answer and replace earlier ones, null and absent ones do not. */
export const mergeUsage = (known: JsonObject, reported: unknown): JsonObject => {
  const news = Object.entries(asObject(reported)).filter(([, value]) => value !== null && value !== undefined)
  // An iteration of the answer that is not repeated is out of date; the new figures include its totals.
  const iterations = asArray(known['iterations']).filter((iteration) => isObject(iteration) && isBeside(iteration))
  return { ...known, iterations, ...Object.fromEntries(news) }
}

const serverToolUse = (usage: Usage): JsonObject | null => {
  const searches = countWebSearches(usage.toolCalls)
  return searches === 0 ? null : { web_search_requests: searches, web_fetch_requests: 0 }
}

export const finalUsageOnWire = (usage: Usage): JsonObject => {
  const { promptTotal, cacheRead, outputTotal, outputReasoning } = usage
  return {
    input_tokens: promptTotal - cacheRead - cacheWriteOf(usage),
    cache_creation_input_tokens: cacheWriteOf(usage),
    cache_read_input_tokens: cacheRead,
    output_tokens: outputTotal,
    output_tokens_details: { thinking_tokens: outputReasoning },
    server_tool_use: serverToolUse(usage),
  }
}

export const messagesUsageOnWire = (usage: Usage): JsonObject => ({
  ...finalUsageOnWire(usage),
  cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite5m, ephemeral_1h_input_tokens: usage.cacheWrite1h },
  service_tier: 'standard',
  inference_geo: null,
  speed: null,
})
