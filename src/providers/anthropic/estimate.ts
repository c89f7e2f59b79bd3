import { type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { countCacheWrites } from '../canonical/estimate.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { type CountedFor, countOutput, countTokens, jsonText } from '../dialect/tokens.ts'
import { readCacheMark } from './read-blocks.ts'

/** The provider publishes no count of its wrapping: about a role and two marks a message. */
const messageTokens = 3

const sourceText = (source: unknown): string => {
  const { type, data, content } = asObject(source)
  return type === 'text' ? asText(data) : contentText(content)
}

const blockText = (block: JsonObject): string => {
  const { text, thinking, name, input, content, source } = block
  return asText(text) + asText(thinking) + asText(name) + jsonText(input) + contentText(content) + sourceText(source)
}

const contentText = (content: unknown): string =>
  typeof content === 'string' ? content : asArray(content).filter(isObject).map(blockText).join('')

/** The text that a provider tokenizes; images and PDF are not counted. */
const promptTexts = (body: JsonObject): readonly string[] => [
  contentText(body['system']),
  ...asArray(body['messages']).map((message) => contentText(asObject(message)['content'])),
  jsonText(body['tools']),
  jsonText(asObject(body['output_config'])['format']),
]

export const countMessagesPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<number> =>
  (await countTokens(promptTexts(body).join(''), countedFor)) + asArray(body['messages']).length * messageTokens

type Piece = Parameters<typeof countCacheWrites>[0][number]

const pieceOf = (block: JsonObject, text: string): Piece => ({ text, mark: readCacheMark(block) })

const contentPieces = (content: unknown): readonly Piece[] =>
  typeof content === 'string'
    ? [{ text: content, mark: null }]
    : asArray(content)
        .filter(isObject)
        .map((block) => pieceOf(block, blockText(block)))

/** In the order in which the provider caches. */
const piecesOf = (body: JsonObject): readonly Piece[] => [
  ...asArray(body['tools'])
    .filter(isObject)
    .map((tool) => pieceOf(tool, jsonText(tool))),
  ...contentPieces(body['system']),
  ...asArray(body['messages']).flatMap((message) => contentPieces(asObject(message)['content'])),
  pieceOf(body, ''),
]

export const countMessagesUsage = async (
  _target: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  return usageOf(
    {
      total: await countMessagesPrompt(request.body, request),
      ...(await countCacheWrites(piecesOf(request.body), request)),
    },
    await countOutput(delivered, request),
    delivered.toolCalls ?? {},
  )
}
