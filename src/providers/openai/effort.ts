import { effortOfBudget, type Reasoning } from '../canonical/conversation.ts'
import type { Demands } from '../canonical/format.ts'
import type { Target } from '../dialect/dialect.ts'

/** A dated snapshot is treated as its model. */
const dated = String.raw`(?:-\d{4}-\d{2}-\d{2})?$`

/** The least effort that a reasoning model knows. Read 2026-11 in Vercel's AI SDK and Google's pages. */
const table: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`^gpt-5(?:-(?:mini|nano))?${dated}`), 'minimal'],
  [new RegExp(String.raw`^gpt-5\.\d+(?:-(?:mini|nano|sol|luna|terra))?${dated}`), 'none'],
  [new RegExp(`^gpt-6(?:-sol|-luna|[.]1-terra)${dated}`), 'none'],
  [/^gpt-6(?!.*chat)/, 'low'],
  [/^o[1-9](?:-|$)/, 'low'],
  [/^gemini-2\.5-flash/, 'none'],
  [/^gemini-(?:2\.5-pro|[3-9])/, 'low'],
  [/^grok-3-mini/, 'low'],
]

/** Null for a model that does not reason, or whose efforts are unknown: then none is sent. */
export const leastEffortOf = (upstreamModel: string): string | null =>
  table.find(([pattern]) => pattern.test(upstreamModel))?.[1] ?? null

/** OpenAI refuses an effort of these. */
const withoutReasoning = /^(?:gpt-3\.5|gpt-4|gpt-5-chat)/

const isKnown = (name: string): boolean => withoutReasoning.test(name) || leastEffortOf(name) !== null

/** A deployment's name is as its operator likes: where it shows nothing, the public name counts. */
export const namedModelOf = ({ model, upstreamModel }: Pick<Target, 'model' | 'upstreamModel'>): string =>
  isKnown(upstreamModel) ? upstreamModel : model.slice(model.indexOf('/') + 1)

/** From these on OpenAI takes functions on its chat endpoint only with the effort `none`, sent explicitly (2026-11). */
const reasonsWithoutFunctions = /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9])/

/** A router's name for a model begins with its maker, and a router calls the maker by the API that takes what was asked. */
export const isRouted = (upstreamModel: string): boolean => upstreamModel.includes('/')

export const effortFor = (upstreamModel: string, wanted: string | null, hasFunctions: boolean): string | null => {
  if (withoutReasoning.test(upstreamModel)) return null
  const canBeNone = leastEffortOf(upstreamModel) === 'none'
  return hasFunctions && canBeNone && reasonsWithoutFunctions.test(upstreamModel) ? 'none' : wanted
}

/** `off` is sent explicitly: a model that would think by default must not cost what the caller declined. */
export const wantedEffort = (reasoning: Reasoning | null, upstreamModel: string): string | null => {
  switch (reasoning?.type) {
    case undefined:
      return null
    case 'off':
      return leastEffortOf(upstreamModel)
    case 'budget':
      return effortOfBudget(reasoning.tokens)
    case 'effort':
    case 'adaptive':
      return reasoning.effort
  }
}

const wantsReasoning = (reasoning: Reasoning | null): boolean =>
  reasoning !== null && reasoning.type !== 'off' && !(reasoning.type === 'effort' && reasoning.effort === 'none')

/** Functions of a model that is to reason, or always does, are for the Responses API alone, which has no stop sequences. */
export const needsResponses = (upstreamModel: string, readDemands: () => Demands): boolean => {
  if (!reasonsWithoutFunctions.test(upstreamModel)) return false
  const { hasFunctions, reasoning, stopSequences } = readDemands()
  const reasons = wantsReasoning(reasoning) || leastEffortOf(upstreamModel) !== 'none'
  return reasons && hasFunctions && stopSequences.length === 0
}
