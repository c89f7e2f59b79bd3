export interface ModelCapabilities {
  /** `budget`: the request sets a number of thinking tokens. `adaptive`: the model decides, guided by an effort. */
  readonly thinking: 'budget' | 'adaptive'
  readonly canDisableThinking: boolean
  readonly extraHighEffort: boolean
  readonly sampling: boolean
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

/** The first match counts; an unknown Claude is treated like the latest. Read 2026-11 in Vercel's AI SDK. */
const table: readonly (readonly [RegExp, ModelCapabilities])[] = [
  [/claude-(?:(?:opus|sonnet)-5-5|fable-|mythos-)/, { ...adaptive, canDisableThinking: false }],
  [/claude-(?:opus|sonnet)-4-6/, { ...adaptive, extraHighEffort: false, sampling: true }],
  [/claude-(?:(?:opus|sonnet|haiku)-4-5|opus-4-1)/, budget],
  [/claude-(?:(?:opus|sonnet)-4(?!-[1-9](?!\d))|[123](?!\d)|instant)/, { ...budget, schema: false }],
  [/claude-/, adaptive],
]

/** Other vendors' models with this dialect implement it as of the time when budgets were the only way to think. */
export const capabilitiesOf = (upstreamModel: string): ModelCapabilities =>
  table.find(([pattern]) => pattern.test(upstreamModel))?.[1] ?? budget
