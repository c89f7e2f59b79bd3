import type { ServedWith } from '../../domain/pricing/charge.ts'
import { type PromptTokens, type Usage, usageOf } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { PriceSheet } from '../../events/types.ts'
import { countCacheWrites } from '../canonical/estimate.ts'
import type { Delivered, Target, UpstreamCallRequest } from '../dialect/dialect.ts'
import { promptMedia, withMedia } from '../dialect/media.ts'
import type { PromptPiece } from '../dialect/prompt-pieces.ts'
import { type CountedFor, countOutput, countTokens, jsonTexts } from '../dialect/tokens.ts'
import { readCacheMark } from './read-blocks.ts'

/** The provider publishes no count of its wrapping: about a role and two marks a message. */
const messageTokens = 3

const inSource = (source: unknown): unknown => {
  const { type, data, content } = asObject(source)
  return type === 'text' ? asText(data) : content
}

/** Of a content and all that is in it, in order. */
function* contentTexts(content: unknown): Generator<string, void> {
  const rest = [content]
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next === 'string') yield next
    else if (Array.isArray(next)) for (const block of next.filter(isObject).reverse()) rest.push(block)
    else if (isObject(next)) {
      yield asText(next['text'])
      yield asText(next['thinking'])
      yield asText(next['name'])
      yield* jsonTexts(next['input'])
      rest.push(inSource(next['source']), next['content'])
    }
  }
}

/** The text that a provider tokenizes. */
function* promptTexts(body: JsonObject): Generator<string, void> {
  yield* contentTexts(body['system'])
  for (const message of asArray(body['messages'])) yield* contentTexts(asObject(message)['content'])
  yield* jsonTexts(body['tools'])
  yield* jsonTexts(asObject(body['output_config'])['format'])
}

const countPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<PromptTokens> => {
  const tokens = await countTokens(promptTexts(body), countedFor)
  return withMedia(tokens + asArray(body['messages']).length * messageTokens, promptMedia(body))
}

export const countMessagesPrompt = async (body: JsonObject, countedFor: CountedFor): Promise<number> =>
  (await countPrompt(body, countedFor)).total

type Piece = PromptPiece<'5m' | '1h'>

function* contentPieces(content: unknown): Generator<Piece, void> {
  if (typeof content === 'string') yield { texts: [content], mark: null }
  else
    for (const block of asArray(content))
      if (isObject(block)) yield { texts: contentTexts(block), mark: readCacheMark(block) }
}

/** In the order in which the provider caches. */
function* piecesOf(body: JsonObject): Generator<Piece, void> {
  for (const tool of asArray(body['tools']))
    if (isObject(tool)) yield { texts: jsonTexts(tool), mark: readCacheMark(tool) }
  yield* contentPieces(body['system'])
  for (const message of asArray(body['messages'])) yield* contentPieces(asObject(message)['content'])
  yield { texts: [], mark: readCacheMark(body) }
}

/** Where it has no price the provider is not asked for it. */
const requestedRegion = (sheet: PriceSheet, region: unknown): Pick<ServedWith, 'inferenceGeo'> =>
  typeof region === 'string' && Object.hasOwn(sheet.region_multipliers ?? {}, region) ? { inferenceGeo: region } : {}

export const countMessagesUsage = async (
  { sheet }: Target,
  request: UpstreamCallRequest,
  delivered: Delivered,
): Promise<Usage> => {
  const usage = usageOf(
    {
      ...(await countPrompt(request.body, request)),
      ...(await countCacheWrites(() => piecesOf(request.body), request)),
    },
    await countOutput(delivered, request),
    delivered.toolCalls ?? {},
  )
  return { ...usage, ...requestedRegion(sheet, request.body['inference_geo']) }
}
