import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../../../encoding/json.ts'
import {
  builtInSearch,
  encodedAudio,
  encodedImage,
  type Media,
  noMedia,
  sumOfMedia,
  unmeasured,
  webSearches,
} from '../inference/media.ts'
import type { GeminiRequest } from './request.types.ts'

const mediaOfBlob = ({ mimeType, data }: JsonObject): Media => {
  const type = asText(mimeType).toLowerCase()
  if (type.startsWith('image/')) return encodedImage(asText(data))
  if (type.startsWith('audio/')) return encodedAudio(asText(data))
  return type.startsWith('text/') ? noMedia : unmeasured
}

const mediaOfPart = (part: unknown): Media => {
  const { inlineData, functionResponse } = asObject(part)
  const own = isObject(inlineData) ? mediaOfBlob(inlineData) : noMedia
  return sumOfMedia([own, ...asArray(asObject(functionResponse)['parts']).map(mediaOfPart)])
}

const mediaOf = ({ contents, systemInstruction }: GeminiRequest): Media =>
  sumOfMedia(
    [...contents, systemInstruction].flatMap((content) => asArray(asObject(content)['parts']).map(mediaOfPart)),
  )

const offers = ({ tools }: GeminiRequest, name: string): boolean =>
  asArray(tools).some((tool) => isObject(asObject(tool)[name]))

/** What the provider fetches, or computes, for the model has no bound that we know. */
const readsElsewhere = (request: GeminiRequest): boolean =>
  offers(request, 'urlContext') || offers(request, 'codeExecution')

/** The most a request can use; thinking is within `maxOutputTokens`. */
export const boundGeminiUsage = (request: GeminiRequest, bodyBytes: number): UsageBounds => {
  const media = mediaOf(request)
  const { maxOutputTokens = null, responseModalities = [] } = request.generationConfig ?? {}
  return {
    inputTokensMax: bodyBytes - media.bytes + media.tokensMax,
    unmeasured: media.unmeasured || readsElsewhere(request),
    outputTokensMax: maxOutputTokens,
    choices: 1,
    audio: media.audio || responseModalities.includes('AUDIO'),
    image: media.image || responseModalities.includes('IMAGE'),
    ...(request.serviceTier === undefined ? {} : { serviceTier: request.serviceTier }),
    toolCallsMax: { ...builtInSearch(), ...(offers(request, 'googleSearch') ? webSearches() : {}) },
  }
}
