import type { ServedWith } from '../../domain/pricing/charge.ts'
import { type PromptTokens, type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { PriceSheet } from '../../events/types.ts'
import { countCacheWrites } from '../canonical/estimate.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
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

const promptTexts = (body: JsonObject): readonly string[] => [
  contentText(body['system']),
  ...asArray(body['messages']).map((message) => contentText(asObject(message)['content'])),
  jsonText(body['tools']),
  jsonText(asObject(body['output_config'])['format']),
]

const countPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<PromptTokens> => {
  const tokens = await countTokens(promptTexts(body).join(''), countedFor)
  return withMedia(tokens + asArray(body['messages']).length * messageTokens, promptMedia(body))
}

export const countMessagesPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<number> =>
  (await countPrompt(body, countedFor)).total

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

/** Where it has no price the provider is not asked for it. */
const requestedRegion = (sheet: PriceSheet, region: unknown): Pick<ServedWith, 'inferenceGeo'> =>
  typeof region === 'string' && Object.hasOwn(sheet.region_multipliers ?? {}, region) ? { inferenceGeo: region } : {}

export const countMessagesUsage = async (
  { sheet }: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  const usage = usageOf(
    { ...(await countPrompt(request.body, request)), ...(await countCacheWrites(piecesOf(request.body), request)) },
    await countOutput(delivered, request),
    delivered.toolCalls ?? {},
  )
  return { ...usage, ...requestedRegion(sheet, request.body['inference_geo']) }
}
