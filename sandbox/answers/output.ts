import type { Directives } from './directives.ts'
import { instanceOf } from './json-instance.ts'
import { sandboxLimits } from './limits.ts'
import { bigText, echo, tokensOfJson, tokensOfText } from './words.ts'

export interface FunctionTool {
  readonly name: string
  readonly parameters: unknown
}

export interface Prompt {
  readonly userText: string
  readonly calls: readonly FunctionTool[]
  readonly preface: string
  readonly jsonSchema: unknown
  readonly audio: boolean
  readonly stop: readonly string[]
  readonly outputTokensMax: number
  readonly reasoningTokens: number
}

/** One token of an answer. A stream sends it as a delta, a whole answer joins them. */
export type Fragment =
  | { readonly type: 'content' | 'refusal' | 'transcript'; readonly text: string }
  | { readonly type: 'call'; readonly index: number; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }

type FinishReason = 'stop' | 'length' | 'tool_calls'

export interface Output {
  readonly fragments: readonly Fragment[]
  readonly finishReason: FinishReason
  /** The stop sequence that ended it; null where none did. */
  readonly stopWord: string | null
  readonly reasoningTokens: number
  readonly reasoningText: readonly string[]
}

export interface Call {
  readonly name: string
  readonly pieces: readonly string[]
}

/** Where JSON is asked for without a schema. */
export const answerSchema = { type: 'object', properties: { answer: { const: 'The sandbox answers in JSON.' } } }

const reasoningTokensByEffort: { readonly [effort: string]: number } = {
  none: 0,
  minimal: 8,
  low: 16,
  medium: 32,
  high: 64,
  xhigh: 128,
  max: 256,
}
const reasoningTokensOfUnknownEffort = 32
const budgetShare = 64

export const reasoningTokensOf = (effort: string | null): number =>
  effort === null ? 0 : (reasoningTokensByEffort[effort] ?? reasoningTokensOfUnknownEffort)

/** A small share of the tokens that may be spent. */
export const reasoningTokensOfBudget = (budget: number): number => Math.ceil(budget / budgetShare)

/** The functions to call of those allowed: one, two for parallel calls, or as many as the directive sets, in turns. */
export const calledOf = (
  tools: readonly FunctionTool[],
  parallel: boolean,
  directives: Directives,
): readonly FunctionTool[] => {
  const count = directives.tool_calls ?? Math.min(tools.length, parallel ? 2 : 1)
  return Array.from({ length: count }, (_, index) => tools[index % tools.length]).filter((tool) => tool !== undefined)
}

const fragmentsOfCall = (tool: FunctionTool, index: number): readonly Fragment[] => {
  const pieces = tokensOfJson(JSON.stringify(instanceOf(tool.parameters)))
  return [
    { type: 'call', index, name: tool.name },
    ...pieces.map((text) => ({ type: 'arguments' as const, index, text })),
  ]
}

interface Cut {
  readonly tokens: readonly string[]
  readonly stopWord: string | null
}

const cutAtStop = (tokens: readonly string[], stops: readonly string[]): Cut => {
  if (stops.length === 0) return { tokens, stopWord: null }
  const text = tokens.join('')
  const ends = stops.map((stop) => ({ stop, at: text.indexOf(stop) })).filter(({ at }) => at >= 0)
  const [first] = ends.toSorted((one, other) => one.at - other.at)
  if (first === undefined) return { tokens, stopWord: null }
  return { tokens: tokensOfText(text.slice(0, first.at)), stopWord: first.stop }
}

const wordsOf = (prompt: Prompt, directives: Directives): readonly string[] => {
  if (directives.big_bytes !== undefined) return bigText(directives.big_bytes, directives.unicode === true)
  if (prompt.jsonSchema !== undefined) return tokensOfJson(JSON.stringify(instanceOf(prompt.jsonSchema)))
  return echo(prompt.userText, directives.output_tokens, directives.unicode === true)
}

interface EchoedOutput {
  readonly fragments: readonly Fragment[]
  readonly stopWord: string | null
}

const calling = ({ calls, preface }: Prompt): EchoedOutput => {
  const words = tokensOfText(preface).map((text) => ({ type: 'content' as const, text }))
  return { fragments: [...words, ...calls.flatMap(fragmentsOfCall)], stopWord: null }
}

const wholeOutput = (prompt: Prompt, directives: Directives): EchoedOutput => {
  if (prompt.calls.length > 0) return calling(prompt)
  const type = prompt.audio ? 'transcript' : directives.refusal ? 'refusal' : 'content'
  const { tokens, stopWord } = cutAtStop(wordsOf(prompt, directives), prompt.stop)
  return { fragments: tokens.map((text) => ({ type, text })), stopWord }
}

const thought = 'The sandbox thinks about what was said.'

/** Reasoning is spent first, as by real models: a small limit leaves no text. Directives for bytes ignore the limit. */
export const outputOf = (prompt: Prompt, directives: Directives): Output => {
  const { outputTokensMax, calls } = prompt
  const reasoningTokens = Math.min(prompt.reasoningTokens, outputTokensMax)
  const { fragments, stopWord } = wholeOutput(prompt, directives)
  const room = directives.big_bytes === undefined ? outputTokensMax - reasoningTokens : fragments.length
  const isCut = fragments.length > room
  const shown = Math.min(directives.reasoning_tokens ?? reasoningTokens, sandboxLimits.sandboxEchoWordsMax)
  return {
    fragments: isCut ? fragments.slice(0, room) : fragments,
    finishReason: isCut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    stopWord: isCut ? null : stopWord,
    reasoningTokens,
    reasoningText: echo(thought, shown, false),
  }
}

export const textTokensOf = (output: Output): readonly string[] =>
  output.fragments.flatMap((each) => (each.type === 'content' || each.type === 'refusal' ? [each.text] : []))

export const callsOf = (output: Output): readonly Call[] =>
  output.fragments.flatMap((each) =>
    each.type === 'call' ? [{ name: each.name, pieces: piecesOf(output, each.index) }] : [],
  )

const piecesOf = (output: Output, index: number): readonly string[] =>
  output.fragments.flatMap((each) => (each.type === 'arguments' && each.index === index ? [each.text] : []))
