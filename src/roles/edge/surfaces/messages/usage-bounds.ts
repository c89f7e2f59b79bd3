import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import {
  builtInSearch,
  encodedImage,
  linkedImage,
  type Media,
  noMedia,
  sumOfMedia,
  unmeasured,
  webSearches,
} from '../inference/media.ts'
import type { MessagesRequest } from './request.types.ts'

const imageOf = ({ type, data, url }: JsonObject): Media => {
  if (type === 'base64') return encodedImage(asText(data))
  return type === 'url' ? linkedImage(asText(url)) : { ...encodedImage(''), unmeasured: true }
}

/** A document of text, or of blocks, counts as they do. */
const documentOf = ({ type, content }: JsonObject): Media => {
  if (type === 'text') return noMedia
  return type === 'content' ? mediaOfContent(content) : unmeasured
}

const mediaOfBlock = (block: unknown): Media => {
  const { type, source, content } = asObject(block)
  switch (type) {
    case 'image':
      return imageOf(asObject(source))
    case 'document':
      return documentOf(asObject(source))
    case 'container_upload':
      return unmeasured
    default:
      return mediaOfContent(content)
  }
}

const mediaOfContent = (content: unknown): Media => sumOfMedia(asArray(content).map(mediaOfBlock))

const typesOf = ({ tools }: MessagesRequest): readonly string[] =>
  asArray(tools).map((tool) => asText(asObject(tool)['type']))

/** What the provider fetches for the model has no bound that we know. */
const readsElsewhere = (request: MessagesRequest): boolean =>
  asArray(request.mcp_servers).length > 0 || typesOf(request).some((type) => type.startsWith('web_fetch_'))

const isWebSearch = (tool: unknown): tool is JsonObject =>
  isObject(tool) && asText(tool['type']).startsWith('web_search_')

const searchesOf = ({ max_uses }: JsonObject): number => {
  if (max_uses === undefined || max_uses === null) return sharedLimits.webSearchesMax
  if (Number.isSafeInteger(max_uses) && Number(max_uses) > 0) return Number(max_uses)
  throw new GatewayError('invalid_value', 'Invalid `max_uses` of a web search: a whole number above zero.', {
    param: 'tools',
  })
}

const searchCallsOf = ({ tools }: MessagesRequest): UsageBounds['toolCallsMax'] => {
  const searches = asArray(tools).filter(isWebSearch)
  return searches.length === 0 ? {} : webSearches(Math.max(...searches.map(searchesOf)))
}

/** The most a messages request can use; thinking is within `max_tokens`. */
export const boundMessagesUsage = (request: MessagesRequest, bodyBytes: number): UsageBounds => {
  const media = sumOfMedia(
    [...request.messages, { content: request['system'] }].map(({ content }) => mediaOfContent(content)),
  )
  return {
    inputTokensMax: bodyBytes - media.bytes + media.tokensMax,
    unmeasured: media.unmeasured || readsElsewhere(request),
    outputTokensMax: request.max_tokens,
    choices: 1,
    audio: false,
    image: media.image,
    ...(typeof request['inference_geo'] === 'string' ? { inferenceGeo: request['inference_geo'] } : {}),
    toolCallsMax: { ...builtInSearch(), ...searchCallsOf(request) },
  }
}
