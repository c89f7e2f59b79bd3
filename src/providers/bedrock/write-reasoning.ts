import type { JsonObject } from '../../encoding/json.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { effortOfBudget, type Reasoning } from '../canonical/conversation.ts'

type Effort = 'none' | 'low' | 'medium' | 'high'

const efforts: ReadonlyMap<string, Effort> = new Map([
  ['none', 'none'],
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'high'],
])

const wordOf = (reasoning: Reasoning): string => {
  switch (reasoning.type) {
    case 'off':
      return 'none'
    case 'effort':
      return reasoning.effort
    case 'budget':
      return effortOfBudget(reasoning.tokens)
    case 'adaptive':
      return reasoning.effort ?? 'high'
  }
}

const effortOf = (reasoning: Reasoning): Effort => {
  const word = wordOf(reasoning)
  const effort = efforts.get(word)
  if (effort !== undefined) return effort
  throw new GatewayError('unsupported_value', `The reasoning effort '${word}' is not available for this model.`, {
    param: 'reasoning_effort',
  })
}

/** With the effort `high` it takes no output limit, and could cost more than was reserved. */
const novaEffort = (effort: Effort): string => (effort === 'high' ? 'medium' : effort)

const families: readonly (readonly [pattern: RegExp, write: (effort: Effort) => JsonObject])[] = [
  // https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
  [
    /amazon\.nova-2/,
    (effort) => ({
      reasoningConfig:
        effort === 'none' ? { type: 'disabled' } : { type: 'enabled', maxReasoningEffort: novaEffort(effort) },
    }),
  ],
  [/openai\.gpt-oss/, (effort) => ({ reasoning_effort: effort === 'none' ? 'low' : effort })],
]

/** Each family of models has its own member; others reason as they do by default. Throws `unsupported_value`. */
export const writeConverseReasoning = (reasoning: Reasoning | null, upstreamModel: string): JsonObject => {
  const write = families.find(([pattern]) => pattern.test(upstreamModel))?.[1]
  if (reasoning === null || write === undefined) return {}
  return { additionalModelRequestFields: write(effortOf(reasoning)) }
}
