import type { JsonObject } from '../../encoding/json.ts'
import type { Reasoning } from '../canonical/conversation.ts'
import { generationOf } from './generation.ts'

/** Google's published mapping of OpenAI's efforts, in tokens. */
const budgetByEffort: { readonly [effort: string]: number } = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
const dynamicBudget = -1

const effortOf = (reasoning: Reasoning): string =>
  reasoning.type === 'effort' || reasoning.type === 'adaptive' ? (reasoning.effort ?? '') : ''

/** The range of a Gemini 2.5 model, in tokens; `off` is its minimum. */
const budgetsOf = (upstreamModel: string): { readonly min: number; readonly max: number; readonly off: number } => {
  if (upstreamModel.includes('pro')) return { min: 128, max: 32_768, off: 128 }
  return { min: upstreamModel.includes('lite') ? 512 : 1, max: 24_576, off: 0 }
}

const budgetFor = (reasoning: Reasoning, upstreamModel: string): number => {
  const { min, max, off } = budgetsOf(upstreamModel)
  if (reasoning.type === 'off' || effortOf(reasoning) === 'none') return off
  if (reasoning.type === 'budget') return Math.min(max, Math.max(min, reasoning.tokens))
  return budgetByEffort[effortOf(reasoning)] ?? dynamicBudget
}

/** Thinking cannot be switched off from Gemini 3 on; Pro and models after 3.6 do not know `minimal` either. */
const leastLevel = (upstreamModel: string): string =>
  /gemini-3(?:\.[0-6])?-flash/.test(upstreamModel) ? 'minimal' : 'low'

const levelForBudget = (tokens: number): string => {
  if (tokens <= 1_024) return 'low'
  return tokens <= 8_192 ? 'medium' : 'high'
}

/** Undefined leaves the amount to the model. */
const levelFor = (reasoning: Reasoning, upstreamModel: string): string | undefined => {
  if (reasoning.type === 'budget') return levelForBudget(reasoning.tokens)
  const effort = reasoning.type === 'off' ? 'none' : effortOf(reasoning)
  if (effort === 'none' || effort === 'minimal') return leastLevel(upstreamModel)
  if (effort === 'xhigh' || effort === 'max') return 'high'
  return ['low', 'medium', 'high'].includes(effort) ? effort : undefined
}

/** `thinkingConfig`; undefined where the caller asks for nothing, or the model cannot think. */
export const thinkingConfigFor = (reasoning: Reasoning | null, upstreamModel: string): JsonObject | undefined => {
  if (reasoning === null) return undefined
  const includeThoughts = reasoning.type !== 'off' && effortOf(reasoning) !== 'none'
  if (generationOf(upstreamModel) >= 3) return { includeThoughts, thinkingLevel: levelFor(reasoning, upstreamModel) }
  if (!upstreamModel.includes('gemini-2.5')) return undefined
  return { includeThoughts, thinkingBudget: budgetFor(reasoning, upstreamModel) }
}
