import type { JsonObject } from '../../src/encoding/json.ts'
import type { Told } from '../dialect.ts'
import type { Directives } from '../directives.ts'
import type { Output } from '../output.ts'
import { type Tokens, tokensOf } from '../tokens.ts'
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

const told = (tokens: Tokens, directives: Directives): Told => ({
  tokens,
  usage: usageOnWire(tokens, directives.tool_prompt_tokens ?? 0),
})

export const reportedGenerateContentUsage = (
  request: ContentRequest,
  output: Output,
  directives: Directives,
): Told | null => {
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
  return told({ ...tokens, prompt: tokens.prompt + (directives.tool_prompt_tokens ?? 0) }, directives)
}

export const generateContentUsageSoFar = ({ tokens }: Told, fragments: number, directives: Directives): Told => {
  const output = Math.min(tokens.output, tokens.reasoning + fragments)
  return told({ ...tokens, output, audioOut: Math.min(tokens.audioOut, fragments) }, directives)
}

export const usageOfPrompt = ({ tokens }: Told, directives: Directives): Told =>
  told({ ...tokens, output: 0, reasoning: 0, audioOut: 0 }, directives)
