import { limits } from '../../limits.ts'
import type { Directives } from '../directives.ts'
import { instanceOf } from '../json-instance.ts'
import { bigText, echo, tokensOfJson, tokensOfText } from '../words.ts'
import type { ChatRequest, FunctionTool } from './request.ts'

/** One token of an answer. A stream sends it as a delta, a whole answer joins them. */
export type Fragment =
  | { readonly type: 'content'; readonly text: string }
  | { readonly type: 'transcript'; readonly text: string }
  | { readonly type: 'call'; readonly index: number; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }

export type FinishReason = 'stop' | 'length' | 'tool_calls'

/** What every choice of an answer says. */
export interface Output {
  readonly fragments: readonly Fragment[]
  readonly finishReason: FinishReason
  readonly reasoningTokens: number
  /** What is shown of the reasoning, in the profile that shows any. */
  readonly reasoningText: readonly string[]
}

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

const reasoningTokensOf = (effort: string | null): number =>
  effort === null ? 0 : (reasoningTokensByEffort[effort] ?? reasoningTokensOfUnknownEffort)

const fragmentsOfCall = (tool: FunctionTool, index: number): readonly Fragment[] => {
  const pieces = tokensOfJson(JSON.stringify(instanceOf(tool.parameters)))
  return [
    { type: 'call', index, name: tool.name },
    ...pieces.map((text) => ({ type: 'arguments' as const, index, text })),
  ]
}

const cutAtStop = (tokens: readonly string[], stops: readonly string[]): readonly string[] => {
  if (stops.length === 0) return tokens
  const text = tokens.join('')
  const ends = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
  return ends.length === 0 ? tokens : tokensOfText(text.slice(0, Math.min(...ends)))
}

const wordsOf = (request: ChatRequest, directives: Directives): readonly string[] => {
  if (directives.big_bytes !== undefined) return bigText(directives.big_bytes, directives.unicode === true)
  if (request.jsonSchema !== undefined) return tokensOfJson(JSON.stringify(instanceOf(request.jsonSchema)))
  return echo(request.userText, directives.output_tokens, directives.unicode === true)
}

const wholeOutput = (request: ChatRequest, directives: Directives): readonly Fragment[] => {
  if (request.calls.length > 0) return request.calls.flatMap(fragmentsOfCall)
  const type = request.audio ? 'transcript' : 'content'
  return cutAtStop(wordsOf(request, directives), request.stop).map((text) => ({ type, text }))
}

const thought = 'The sandbox thinks about what was said.'

/** Reasoning is spent first, as the real ones do: a small limit leaves nothing to say. Asked-for bytes know no limit. */
export const outputOf = (request: ChatRequest, directives: Directives): Output => {
  const { outputTokensMax, calls } = request
  const reasoningTokens = Math.min(reasoningTokensOf(request.reasoningEffort), outputTokensMax)
  const whole = wholeOutput(request, directives)
  const room = directives.big_bytes === undefined ? outputTokensMax - reasoningTokens : whole.length
  const usual = calls.length > 0 ? 'tool_calls' : 'stop'
  const shown = Math.min(directives.reasoning_tokens ?? reasoningTokens, limits.sandboxEchoWordsMax)
  return {
    fragments: whole.length > room ? whole.slice(0, room) : whole,
    finishReason: whole.length > room ? 'length' : usual,
    reasoningTokens,
    reasoningText: directives.profile === 'xai' ? echo(thought, shown, false) : [],
  }
}
