import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
import { requestedTier } from '../dialect/provider.ts'
import { countOutput, countTokens, jsonTexts, wrappingTokens } from '../dialect/tokens.ts'
import { contentPieces, countMarkedWrites, unmarked } from '../openai/cache-marks.ts'
import { answerTextOf, reasoningTextOf } from './delivered.ts'

function* itemTexts(item: JsonObject): Generator<string, void> {
  yield asText(item['role'])
  yield answerTextOf(item)
  yield reasoningTextOf(item)
}

function* inputTexts(input: unknown): Generator<string, void> {
  if (typeof input === 'string') yield input
  else for (const item of asArray(input)) if (isObject(item)) yield* itemTexts(item)
}

const messagesOf = (input: unknown): number => (typeof input === 'string' ? 1 : asArray(input).length)

/** The text that a provider tokenizes; files and the previous answers of the request are not counted. */
function* promptTexts({ instructions, input, tools, text }: JsonObject): Generator<string, void> {
  yield asText(instructions)
  yield* inputTexts(input)
  yield* jsonTexts(tools)
  yield* jsonTexts(asObject(asObject(text)['format'])['schema'])
}

const countPrompt = async (request: UpstreamCallRequest): Promise<number> =>
  (await countTokens(promptTexts(request.body), request)) + wrappingTokens(messagesOf(request.body['input']))

function* inputPieces(input: unknown, body: JsonObject): ReturnType<typeof contentPieces> {
  if (typeof input === 'string') yield unmarked(input)
  for (const item of asArray(input)) {
    if (!isObject(item)) continue
    if (item['content'] === undefined) yield { texts: itemTexts(item), mark: null }
    else {
      yield unmarked(asText(item['role']))
      yield* contentPieces(item['content'], body)
    }
  }
}

function* promptPieces({ body }: UpstreamCallRequest): ReturnType<typeof contentPieces> {
  yield { texts: jsonTexts(body['tools']), mark: null }
  yield unmarked(asText(body['instructions']))
  yield* inputPieces(body['input'], body)
}

/** For an answer whose upstream reported no usage; its tool calls are those in the answer. */
export const countResponsesUsage = async (
  target: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  const written = await countMarkedWrites(target, () => promptPieces(request), request)
  const prompt = { ...withMedia(await countPrompt(request), promptMedia(request.body)), ...written }
  const usage = usageOf(prompt, await countOutput(delivered, request), delivered.toolCalls ?? {})
  return { ...usage, ...requestedTier(target, request.body['service_tier']) }
}
