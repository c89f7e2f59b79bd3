import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { readNegativeFigures, readServedWith, tokensOf } from '../dialect/reported-usage.ts'

export interface GroundingUse {
  readonly isGrounded: boolean
  readonly toolCalls: Usage['toolCalls']
}

interface Figures {
  readonly prompt: number
  readonly toolUse: number
  readonly candidates: number
  readonly thoughts: number
}

const figuresOf = (raw: JsonObject): Figures | null => {
  const prompt = tokensOf(raw['promptTokenCount'])
  if (prompt === undefined) return null
  const toolUse = tokensOf(raw['toolUsePromptTokenCount']) ?? 0
  const thoughts = tokensOf(raw['thoughtsTokenCount']) ?? 0
  const total = tokensOf(raw['totalTokenCount'])
  const rest = total === undefined ? undefined : Math.max(0, total - prompt - toolUse - thoughts)
  const candidates = tokensOf(raw['candidatesTokenCount']) ?? rest // A figure of zero is omitted.
  return candidates === undefined ? null : { prompt, toolUse, candidates, thoughts }
}

const modalityTokens = (details: unknown, modality: string): number =>
  asArray(details)
    .map(asObject)
    .filter((detail) => detail['modality'] === modality)
    .reduce((sum, detail) => sum + (tokensOf(detail['tokenCount']) ?? 0), 0)

/** The part of the prompt in a modality that was not cached: the prompt's details include what was. */
const uncachedTokens = (raw: JsonObject, modality: string): number =>
  Math.max(
    0,
    modalityTokens(raw['promptTokensDetails'], modality) - modalityTokens(raw['cacheTokensDetails'], modality),
  )

/** Candidates exclude thoughts. What a tool read is input too, except what Google Search found: its call is charged. */
export const readGenerateContentUsage = (raw: unknown, { isGrounded, toolCalls }: GroundingUse): Usage | null => {
  const figures = isObject(raw) ? figuresOf(raw) : null
  if (!isObject(raw) || figures === null) return null
  const { prompt, toolUse, candidates, thoughts } = figures
  const output = raw['candidatesTokensDetails']
  const usage = usageOf(
    {
      total: prompt + (isGrounded ? 0 : toolUse),
      cacheRead: tokensOf(raw['cachedContentTokenCount']) ?? 0,
      cacheReadAudio: modalityTokens(raw['cacheTokensDetails'], 'AUDIO'),
      cacheReadImage: modalityTokens(raw['cacheTokensDetails'], 'IMAGE'),
      audio: uncachedTokens(raw, 'AUDIO'),
      image: uncachedTokens(raw, 'IMAGE'),
    },
    {
      total: candidates + thoughts,
      reasoning: thoughts,
      audio: modalityTokens(output, 'AUDIO'),
      image: modalityTokens(output, 'IMAGE'),
    },
    toolCalls,
  )
  return { ...usage, ...readServedWith(raw['serviceTier'] ?? raw['trafficType']), ...readNegativeFigures(raw) }
}
