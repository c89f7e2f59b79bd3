import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { requestedTier } from '../dialect/provider.ts'
import { type CountedFor, countOutput, countTokens, jsonText, wrappingTokens } from '../dialect/tokens.ts'

/** What a provider tokenizes as text; images, audio and documents are not counted. */
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

export const countGeminiPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<number> =>
  (await countTokens(promptText(body), countedFor)) + wrappingTokens(asArray(body['contents']).length)

export const countGeminiUsage = async (
  target: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => ({
  ...usageOf(
    { total: await countGeminiPrompt(request.body, request) },
    await countOutput(delivered, request),
    delivered.toolCalls ?? {},
  ),
  ...requestedTier(target, request.body['serviceTier']),
})
