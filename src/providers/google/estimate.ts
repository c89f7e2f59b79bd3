import { type PromptTokens, type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
import { requestedTier } from '../dialect/provider.ts'
import { type CountedFor, countOutput, countTokens, jsonText, wrappingTokens } from '../dialect/tokens.ts'

const partText = (part: unknown): string => {
  const { text, functionCall, functionResponse, executableCode, codeExecutionResult } = asObject(part)
  const { name: called, args } = asObject(functionCall)
  const { name: answered, response } = asObject(functionResponse)
  return [
    asText(text),
    asText(called),
    jsonText(args),
    asText(answered),
    jsonText(response),
    asText(asObject(executableCode)['code']),
    asText(asObject(codeExecutionResult)['output']),
  ].join('')
}

const contentText = (content: unknown): string => asArray(asObject(content)['parts']).map(partText).join('')

const promptText = ({ systemInstruction, contents, tools, generationConfig }: JsonObject): string => {
  const { responseSchema, responseJsonSchema } = asObject(generationConfig)
  return [
    contentText(systemInstruction),
    ...asArray(contents).map(contentText),
    jsonText(tools),
    jsonText(responseJsonSchema ?? responseSchema),
  ].join('')
}

const countPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<PromptTokens> => {
  const tokens = await countTokens(promptText(body), countedFor)
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
