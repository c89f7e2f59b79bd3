import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
import { requestedTier } from '../dialect/provider.ts'
import { countOutput, countTokens, jsonText, wrappingTokens } from '../dialect/tokens.ts'
import { contentPieces, countMarkedWrites, type PromptPiece, unmarked } from '../openai/cache-marks.ts'
import { answerTextOf, reasoningTextOf } from './delivered.ts'

const inputText = (input: unknown): string =>
  typeof input === 'string'
    ? input
    : asArray(input)
        .filter(isObject)
        .map((item) => asText(item['role']) + answerTextOf(item) + reasoningTextOf(item))
        .join('')

const messagesOf = (input: unknown): number => (typeof input === 'string' ? 1 : asArray(input).length)

/** The text that a provider tokenizes; files and the previous answers of the request are not counted. */
const countPrompt = async (request: UpstreamCallRequest): Promise<number> => {
  const { instructions, input, tools, text } = request.body
  const format = jsonText(asObject(asObject(text)['format'])['schema'])
  const words = asText(instructions) + inputText(input) + jsonText(tools) + format
  return (await countTokens(words, request)) + wrappingTokens(messagesOf(input))
}

const inputPieces = (input: unknown, body: JsonObject): readonly PromptPiece[] =>
  typeof input === 'string'
    ? [unmarked(input)]
    : asArray(input)
        .filter(isObject)
        .flatMap((item) =>
          item['content'] === undefined
            ? [unmarked(inputText([item]))]
            : [unmarked(asText(item['role'])), ...contentPieces(item['content'], body)],
        )

const promptPieces = ({ body }: UpstreamCallRequest): readonly PromptPiece[] => [
  unmarked(jsonText(body['tools']) + asText(body['instructions'])),
  ...inputPieces(body['input'], body),
]

/** For an answer whose upstream reported no usage; its tool calls are those in the answer. */
export const countResponsesUsage = async (
  target: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  const written = await countMarkedWrites(target, promptPieces(request), request)
  const prompt = { ...withMedia(await countPrompt(request), promptMedia(request.body)), ...written }
  const usage = usageOf(prompt, await countOutput(delivered, request), delivered.toolCalls ?? {})
  return { ...usage, ...requestedTier(target, request.body['service_tier']) }
}
