import type { Limits, Pace } from '../../events/types.ts'
import type { BindingLimits } from '../accounts/limits.ts'
import { withoutSnapshot } from '../routing/plan.ts'

export type Measure = 'requests' | 'tokens' | 'slots'

interface Bound {
  readonly scope: 'workspace' | 'key'
  readonly id: string
}

export interface RateLimit extends Bound {
  /** Of what is counted: the same for each version of the limit. */
  readonly name: string
  readonly measure: Measure
  /** Null: all models together. */
  readonly model: string | null
  readonly max: number
}

const measures = {
  requests: 'requestsPerMinute',
  tokens: 'tokensPerMinute',
  slots: 'concurrentRequests',
} as const satisfies Readonly<Record<Measure, keyof Pace>>

const paced = Object.entries(measures) as [Measure, keyof Pace][]

const limitsIn = (pace: Pace, { scope, id }: Bound, model: string | null): readonly RateLimit[] => {
  const found: RateLimit[] = []
  for (const [measure, member] of paced) {
    const max = pace[member]
    const name = `${scope}:${id}:${measure}:${model ?? ''}`
    if (max !== undefined) found.push({ scope, id, name, measure, model, max })
  }
  return found
}

const bindings = (
  binding: BindingLimits,
  workspaceId: string,
  keyId: string,
): readonly (readonly [Bound, Limits])[] => [
  [{ scope: 'workspace', id: workspaceId }, binding.workspace],
  [{ scope: 'key', id: keyId }, binding.key],
]

/** A snapshot counts for its model, unless it has a limit of its own. */
const limitedModel = ({ models = {} }: Limits, model: string): string | undefined =>
  [model, withoutSnapshot(model)].find((each) => Object.hasOwn(models, each))

export interface RateLimits {
  /** Of all models together; those of tokens are counted once the request has been read. */
  readonly ofAll: readonly RateLimit[]
  readonly ofAllTokens: readonly RateLimit[]
  readonly ofAllAtOnce: readonly RateLimit[]
  /** Null: no model has limits of its own. */
  readonly ofModel: ((model: string) => readonly RateLimit[]) | null
}

export const rateLimitsOf = (binding: BindingLimits, workspaceId: string, keyId: string): RateLimits | null => {
  const bound = bindings(binding, workspaceId, keyId)
  const ofAll = bound.flatMap(([whom, limits]) => limitsIn(limits, whom, null))
  const hasModels = bound.some(([, { models }]) => models !== undefined)
  if (ofAll.length === 0 && !hasModels) return null
  const ofModel = (name: string): readonly RateLimit[] =>
    bound.flatMap(([whom, limits]) => {
      const model = limitedModel(limits, name)
      return model === undefined ? [] : limitsIn(limits.models?.[model] ?? {}, whom, model)
    })
  return {
    ofAll,
    ofAllTokens: ofAll.filter(({ measure }) => measure === 'tokens'),
    ofAllAtOnce: ofAll.filter(({ measure }) => measure !== 'tokens'),
    ofModel: hasModels ? ofModel : null,
  }
}

const amounts: Readonly<Record<Measure, string>> = {
  requests: 'requests a minute',
  tokens: 'tokens a minute',
  slots: 'requests at once',
}

export const rateLimitText = ({ scope, measure, model, max }: RateLimit): string =>
  `The ${scope} is limited to ${max} ${amounts[measure]}${model === null ? '' : ` of the model \`${model}\``}.`
