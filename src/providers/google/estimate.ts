import { type PromptTokens, type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
import { requestedTier } from '../dialect/provider.ts'
import { type CountedFor, countOutput, countTokens, jsonTexts, wrappingTokens } from '../dialect/tokens.ts'

function* partTexts(part: unknown): Generator<string, void> {
  const { text, functionCall, functionResponse, executableCode, codeExecutionResult } = asObject(part)
  const { name: called, args } = asObject(functionCall)
  const { name: answered, response } = asObject(functionResponse)
  yield asText(text)
  yield asText(called)
  yield* jsonTexts(args)
  yield asText(answered)
  yield* jsonTexts(response)
  yield asText(asObject(executableCode)['code'])
  yield asText(asObject(codeExecutionResult)['output'])
}

function* contentTexts(content: unknown): Generator<string, void> {
  for (const part of asArray(asObject(content)['parts'])) yield* partTexts(part)
}

function* promptTexts({ systemInstruction, contents, tools, generationConfig }: JsonObject): Generator<string, void> {
  const { responseSchema, responseJsonSchema } = asObject(generationConfig)
  yield* contentTexts(systemInstruction)
  for (const content of asArray(contents)) yield* contentTexts(content)
  yield* jsonTexts(tools)
  yield* jsonTexts(responseJsonSchema ?? responseSchema)
}

const countPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<PromptTokens> => {
  const tokens = await countTokens(promptTexts(body), countedFor)
  return withMedia(tokens + wrappingTokens(asArray(body['contents']).length), promptMedia(body))
}

export const countGeminiPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<number> =>
  (await countPrompt(body, countedFor)).total

export const countGeminiUsage = async (
  target: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => ({
  ...usageOf(
    await countPrompt(request.body, request),
    await countOutput(delivered, request),
    delivered.toolCalls ?? {},
  ),
  ...requestedTier(target, request.body['serviceTier']),
})
