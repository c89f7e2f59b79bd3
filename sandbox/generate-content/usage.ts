import type { JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import type { Output } from '../answers/output.ts'
import { type Tokens, tokensOf } from '../answers/tokens.ts'
import type { ReportedUsage } from '../http/dialect.ts'
import type { ContentRequest } from './request.ts'

const modalities = (counts: { readonly [modality: string]: number }): readonly JsonObject[] =>
  Object.entries(counts)
    .filter(([, tokenCount]) => tokenCount > 0)
    .map(([modality, tokenCount]) => ({ modality, tokenCount }))

/** A figure of nothing is left out, as protocol buffers do. */
const where = (name: string, figure: number): JsonObject => (figure > 0 ? { [name]: figure } : {})

const usageOnWire = (tokens: Tokens, toolPrompt: number): JsonObject => {
  const prompt = tokens.prompt - toolPrompt
  const candidates = tokens.output - tokens.reasoning
  return {
    promptTokenCount: prompt,
    ...where('candidatesTokenCount', candidates),
    totalTokenCount: tokens.prompt + tokens.output,
    ...where('cachedContentTokenCount', tokens.cached),
    ...where('toolUsePromptTokenCount', toolPrompt),
    ...where('thoughtsTokenCount', tokens.reasoning),
    promptTokensDetails: modalities({
      TEXT: prompt - tokens.audioIn - tokens.image,
      AUDIO: tokens.audioIn,
      IMAGE: tokens.image,
    }),
    ...(tokens.audioOut > 0
      ? { candidatesTokensDetails: modalities({ TEXT: candidates - tokens.audioOut, AUDIO: tokens.audioOut }) }
      : {}),
  }
}

const reportTokens = (tokens: Tokens, directives: Directives): ReportedUsage => ({
  tokens,
  usage: usageOnWire(tokens, directives.tool_prompt_tokens ?? 0),
})

export const reportedGenerateContentUsage = (
  request: ContentRequest,
  output: Output,
  directives: Directives,
): ReportedUsage | null => {
  if (directives.no_usage) return null
  const counted = {
    words: request.words,
    audioIn: request.audios,
    image: request.images,
    visible: output.fragments.length,
    reasoning: output.reasoningTokens,
    audioOut: 0,
  }
  const tokens = tokensOf(counted, directives, true)
  return reportTokens({ ...tokens, prompt: tokens.prompt + (directives.tool_prompt_tokens ?? 0) }, directives)
}

export const generateContentUsageSoFar = (
  { tokens }: ReportedUsage,
  fragments: number,
  directives: Directives,
): ReportedUsage => {
  const output = Math.min(tokens.output, tokens.reasoning + fragments)
  return reportTokens({ ...tokens, output, audioOut: Math.min(tokens.audioOut, fragments) }, directives)
}

export const usageOfPrompt = ({ tokens }: ReportedUsage, directives: Directives): ReportedUsage =>
  reportTokens({ ...tokens, output: 0, reasoning: 0, audioOut: 0 }, directives)
