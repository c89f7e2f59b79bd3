import { asArray, asObject, type JsonObject } from '../../encoding/json.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { effortOfBudget, type Reasoning } from '../canonical/conversation.ts'
import type { ModelCapabilities } from './capabilities.ts'

/** The API takes no budget below this. */
const budgetTokensMin = 1024

/** A thinking budget below `maxTokens`, as the API requires, with room for an answer; null where none fits. */
export const fitBudget = (wantedTokens: number, maxTokens: number): number | null => {
  if (wantedTokens < maxTokens) return wantedTokens
  return maxTokens > budgetTokensMin ? Math.max(budgetTokensMin, Math.floor(maxTokens / 2)) : null
}

export interface Thinking {
  readonly thinking?: JsonObject
  readonly effort?: string
}

/** Tokens by effort. The first three are the published mapping; the others extrapolate it. */
const budgetByEffort: ReadonlyMap<string, number> = new Map([
  ['minimal', 1024],
  ['low', 1280],
  ['medium', 2048],
  ['high', 4096],
  ['xhigh', 8192],
  ['max', 16_384],
])

const budgetFor = (effort: string): number => {
  const tokens = budgetByEffort.get(effort)
  if (tokens !== undefined) return tokens
  throw new GatewayError('unsupported_value', `The reasoning effort '${effort}' is not available for this model.`, {
    param: 'reasoning_effort',
  })
}

const effortWord = (effort: string, { extraHighEffort }: ModelCapabilities): string => {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && !extraHighEffort ? 'high' : effort
}

const adaptiveThinking = (effort: string | null, habits: ModelCapabilities): Thinking => ({
  thinking: { type: 'adaptive' },
  ...(effort === null ? {} : { effort: effortWord(effort, habits) }),
})

/** Where no budget fits below the output limit the model does not think. */
const budgetThinking = (wantedTokens: number, maxTokens: number): Thinking => {
  const budgetTokens = fitBudget(wantedTokens, maxTokens)
  return budgetTokens === null ? {} : { thinking: { type: 'enabled', budget_tokens: budgetTokens } }
}

/** A model that always thinks is asked to think little. */
const withoutThinking = ({ canDisableThinking }: ModelCapabilities): Thinking =>
  canDisableThinking ? { thinking: { type: 'disabled' } } : { effort: 'low' }

/** Throws `unsupported_value` for an effort that has no budget. */
export const writeThinking = (reasoning: Reasoning | null, habits: ModelCapabilities, maxTokens: number): Thinking => {
  if (reasoning === null) return {}
  const isAdaptive = habits.thinking === 'adaptive'
  switch (reasoning.type) {
    case 'off':
      return withoutThinking(habits)
    case 'effort':
      if (reasoning.effort === 'none') return withoutThinking(habits)
      return isAdaptive
        ? adaptiveThinking(reasoning.effort, habits)
        : budgetThinking(budgetFor(reasoning.effort), maxTokens)
    case 'budget':
      return isAdaptive
        ? adaptiveThinking(effortOfBudget(reasoning.tokens), habits)
        : budgetThinking(reasoning.tokens, maxTokens)
    case 'adaptive':
      return isAdaptive
        ? adaptiveThinking(reasoning.effort, habits)
        : budgetThinking(budgetFor(reasoning.effort ?? 'high'), maxTokens)
  }
}

const thinkingTypes: readonly unknown[] = ['thinking', 'redacted_thinking']

/** With a budget, a turn whose calls are answered must begin with its thinking, which other formats do not carry. */
export const hasLostThinking = (
  messages: readonly { readonly role?: unknown; readonly content?: unknown }[],
): boolean => {
  const content = asArray(messages.findLast(({ role }) => role === 'assistant')?.content).map(asObject)
  return content.some(({ type }) => type === 'tool_use') && !thinkingTypes.includes(content[0]?.['type'])
}
