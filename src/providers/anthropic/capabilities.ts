/** What a model takes of a request, where models of the same dialect differ. */
export interface ModelCapabilities {
  /** `budget`: thinking tokens are a number of the request. `adaptive`: the model decides, guided by an effort. */
  readonly thinking: 'budget' | 'adaptive'
  readonly canDisableThinking: boolean
  /** Knows an effort between `high` and `max`. */
  readonly extraHighEffort: boolean
  /** Takes `temperature`, `top_p` and `top_k`. */
  readonly sampling: boolean
  /** Takes a schema for its answer, and strict tools. */
  readonly schema: boolean
}

const adaptive: ModelCapabilities = {
  thinking: 'adaptive',
  canDisableThinking: true,
  extraHighEffort: true,
  sampling: false,
  schema: true,
}
const budget: ModelCapabilities = { ...adaptive, thinking: 'budget', extraHighEffort: false, sampling: true }

/** By the provider's names, the first that matches; a Claude that is new to us has the habits of the latest. Read 2026-11 in Vercel's AI SDK. */
const table: readonly (readonly [RegExp, ModelCapabilities])[] = [
  [/claude-(?:(?:opus|sonnet)-5-5|fable-|mythos-)/, { ...adaptive, canDisableThinking: false }],
  [/claude-(?:opus|sonnet)-4-6/, { ...adaptive, extraHighEffort: false, sampling: true }],
  [/claude-(?:(?:opus|sonnet|haiku)-4-5|opus-4-1)/, budget],
  [/claude-(?:(?:opus|sonnet)-4(?!-[1-9](?!\d))|[123](?!\d)|instant)/, { ...budget, schema: false }],
  [/claude-/, adaptive],
]

/** Other makers' models that speak the dialect know it as it was when budgets were its only way to think. */
export const capabilitiesOf = (upstreamModel: string): ModelCapabilities =>
  table.find(([pattern]) => pattern.test(upstreamModel))?.[1] ?? budget
