import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
import { requestedTier } from '../dialect/provider.ts'
import { countOutput, countTokens, jsonText, wrappingTokens } from '../dialect/tokens.ts'
import { contentPieces, countMarkedWrites, type PromptPiece, unmarked } from './cache-marks.ts'
import { countChatSearchCalls } from './usage.ts'

const partText = (part: unknown): string => {
  const { text, refusal } = asObject(part)
  return asText(text) + asText(refusal)
}

const contentText = (content: unknown): string =>
  typeof content === 'string' ? content : asArray(content).map(partText).join('')

const callText = (call: unknown): string => {
  const { name, arguments: given } = asObject(asObject(call)['function'])
  return asText(name) + asText(given)
}

const messageText = (message: JsonObject): string =>
  [
    asText(message['role']),
    asText(message['name']),
    contentText(message['content']),
    asText(message['reasoning_content']),
    ...asArray(message['tool_calls']).map(callText),
  ].join('')

const promptTexts = ({ body }: UpstreamCallRequest): readonly string[] => [
  ...asArray(body['messages']).filter(isObject).map(messageText),
  jsonText(body['tools']),
  jsonText(body['functions']),
  jsonText(asObject(body['response_format'])['json_schema']),
]

const messagePieces = (message: JsonObject, body: JsonObject): readonly PromptPiece[] => [
  unmarked(asText(message['role']) + asText(message['name'])),
  ...contentPieces(message['content'], body),
  unmarked(asText(message['reasoning_content']) + asArray(message['tool_calls']).map(callText).join('')),
]

const promptPieces = ({ body }: UpstreamCallRequest): readonly PromptPiece[] => [
  unmarked(jsonText(body['tools']) + jsonText(body['functions'])),
  ...asArray(body['messages'])
    .filter(isObject)
    .flatMap((message) => messagePieces(message, body)),
]

const countPrompt = async (request: UpstreamCallRequest): Promise<number> =>
  (await countTokens(promptTexts(request).join(''), request)) + wrappingTokens(asArray(request.body['messages']).length)

export const countChatUsage = async (
  target: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  const written = await countMarkedWrites(target, promptPieces(request), request)
  const prompt = { ...withMedia(await countPrompt(request), promptMedia(request.body)), ...written }
  const usage = usageOf(prompt, await countOutput(delivered, request), countChatSearchCalls(target, request))
  return { ...usage, ...requestedTier(target, request.body['service_tier']) }
}
