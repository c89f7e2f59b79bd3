import type { ServedWith } from '../../domain/pricing/charge.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { type JsonObject, WideInteger } from '../../encoding/json.ts'
import { providerLimits } from './limits.ts'

/** A whole number, zero or above; undefined for anything else. */
export const countOf = (value: unknown): number | undefined => {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  const whole = Math.trunc(value)
  return Number.isSafeInteger(whole) && whole >= 0 ? whole : undefined
}

const figureOf = (value: unknown): unknown => (value instanceof WideInteger ? value.rounded : value)

/** As `countOf`, but 0 for what is below zero: `readNegativeFigures` reports that. */
export const tokensOf = (value: unknown): number | undefined => {
  const figure = figureOf(value)
  return countOf(typeof figure === 'number' && figure < 0 ? 0 : figure)
}

const figureName = /^(?:\w+\.)*\w*(?:tokens?|tokencount|requests|calls)$/i

const addNegative = (found: Map<string, number>, figures: JsonObject, prefix: string): void => {
  for (const member of Object.keys(figures)) {
    const value = figureOf(figures[member])
    const isNegative = typeof value === 'number' && value <= -1
    if (!isNegative && (typeof value !== 'object' || value === null)) continue
    const name = prefix + member
    if (name.length > providerLimits.figureNameCharactersMax) continue
    if (!isNegative) addNegative(found, value as JsonObject, `${name}.`)
    else if (figureName.test(name)) found.set(name, Math.max(Math.trunc(value), -Number.MAX_SAFE_INTEGER))
  }
}

/** The figures of a usage that are below zero, by the provider's names, such as `details.cached_tokens`. */
export const readNegativeFigures = (usage: JsonObject): Pick<Usage, 'negative'> => {
  const found = new Map<string, number>()
  addNegative(found, usage, '')
  if (found.size === 0) return {}
  return { negative: Object.fromEntries([...found].slice(0, providerLimits.negativeFiguresMax)) }
}

const standardTiers: ReadonlySet<string> = new Set(['default', 'standard', 'standard_only', 'auto', 'on_demand'])
const noRegion: ReadonlySet<string> = new Set(['global', 'not_available'])
const nameCharactersMax = 32

/** As a name in an event and in a price sheet; null where it is no text, or begins with no letter. */
const nameOf = (reported: unknown): string | null => {
  if (typeof reported !== 'string') return null
  const name = reported
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]/g, '_')
    .slice(0, nameCharactersMax)
  return /^[a-z]/.test(name) ? name : null
}

/** Google's `trafficType` begins with `ON_DEMAND_`. */
const tierOf = (reported: unknown): string | null => {
  const name = nameOf(reported)?.replace(/^on_demand_(?=[a-z])/, '') ?? null
  return name === null || standardTiers.has(name) ? null : name
}

const regionOf = (reported: unknown): string | null => {
  const name = nameOf(reported)
  return name === null || noRegion.has(name) ? null : name
}

/** As an answer reports them; nothing for the standard ones, and where none is reported. */
export const readServedWith = (reportedTier: unknown, reportedRegion?: unknown): ServedWith => {
  const [serviceTier, inferenceGeo] = [tierOf(reportedTier), regionOf(reportedRegion)]
  return { ...(serviceTier === null ? {} : { serviceTier }), ...(inferenceGeo === null ? {} : { inferenceGeo }) }
}

/** Of an answer without usage, or before it. Undefined where it names no tier, or repeats that it was left to the provider. */
export const readServedTier = (reported: unknown): ServedWith | undefined =>
  typeof reported === 'string' && reported !== 'auto' ? readServedWith(reported) : undefined

const searchItem = /^(?:web_search|grounded_prompt$|grounding_query$)/

/** Of every provider: Google charges its own by the prompt or by the query. */
export const countWebSearches = (toolCalls: Usage['toolCalls']): number =>
  Object.entries(toolCalls).reduce((sum, [item, calls]) => (searchItem.test(item) ? sum + calls : sum), 0)
