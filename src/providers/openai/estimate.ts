import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
import { requestedTier } from '../dialect/provider.ts'
import { countOutput, countTokens, jsonTexts, wrappingTokens } from '../dialect/tokens.ts'
import { contentPieces, countMarkedWrites, unmarked } from './cache-marks.ts'
import { countChatSearchCalls } from './usage.ts'

function* contentTexts(content: unknown): Generator<string, void> {
  if (typeof content === 'string') yield content
  else
    for (const part of asArray(content)) {
      const { text, refusal } = asObject(part)
      yield asText(text)
      yield asText(refusal)
    }
}

function* callTexts({ tool_calls: calls }: JsonObject): Generator<string, void> {
  for (const call of asArray(calls)) {
    const { name, arguments: given } = asObject(asObject(call)['function'])
    yield asText(name)
    yield asText(given)
  }
}

function* promptTexts({ body }: UpstreamCallRequest): Generator<string, void> {
  for (const message of asArray(body['messages'])) {
    if (!isObject(message)) continue
    yield asText(message['role'])
    yield asText(message['name'])
    yield* contentTexts(message['content'])
    yield asText(message['reasoning_content'])
    yield* callTexts(message)
  }
  yield* jsonTexts(body['tools'])
  yield* jsonTexts(body['functions'])
  yield* jsonTexts(asObject(body['response_format'])['json_schema'])
}

function* promptPieces({ body }: UpstreamCallRequest): ReturnType<typeof contentPieces> {
  yield { texts: jsonTexts(body['tools']), mark: null }
  yield { texts: jsonTexts(body['functions']), mark: null }
  for (const message of asArray(body['messages'])) {
    if (!isObject(message)) continue
    yield unmarked(asText(message['role']), asText(message['name']))
    yield* contentPieces(message['content'], body)
    yield unmarked(asText(message['reasoning_content']))
    yield { texts: callTexts(message), mark: null }
  }
}

const countPrompt = async (request: UpstreamCallRequest): Promise<number> =>
  (await countTokens(promptTexts(request), request)) + wrappingTokens(asArray(request.body['messages']).length)

export const countChatUsage = async (
  target: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  const written = await countMarkedWrites(target, () => promptPieces(request), request)
  const prompt = { ...withMedia(await countPrompt(request), promptMedia(request.body)), ...written }
  const usage = usageOf(prompt, await countOutput(delivered, request), countChatSearchCalls(target, request))
  return { ...usage, ...requestedTier(target, request.body['service_tier']) }
}
