import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import {
  builtInSearch,
  encodedAudio,
  linkedImage,
  type Media,
  noMedia,
  sumOfMedia,
  unmeasured,
  webSearches,
} from '../inference/media.ts'
import type { ChatCompletionRequest, ContentPart } from './request.types.ts'

/** Only the member that the part's type names is measured as media: anything else in it counts as text. */
const mediaOfPart = ({ type, image_url, input_audio }: ContentPart): Media => {
  if (type === 'image_url' && image_url !== undefined) return linkedImage(image_url.url)
  if (type === 'input_audio' && input_audio !== undefined) return encodedAudio(input_audio.data)
  return type === 'file' ? unmeasured : noMedia
}

/** Audio of an earlier answer, referenced by its id. */
const earlierAudio: Media = { ...unmeasured, audio: true }

const mediaOf = ({ messages }: ChatCompletionRequest): Media => {
  const found: Media[] = []
  for (const { content, audio } of messages) {
    if (Array.isArray(content)) for (const part of content) found.push(mediaOfPart(part))
    if (audio) found.push(earlierAudio)
  }
  return sumOfMedia(found)
}

/** Where two limits are given, vendors differ on which one counts. */
const outputTokensMaxOf = ({ max_tokens, max_completion_tokens }: ChatCompletionRequest): number | null => {
  const given = [max_tokens, max_completion_tokens].filter((limit) => typeof limit === 'number')
  return given.length === 0 ? null : Math.max(...given)
}

/** The most a chat request can use. No tokenizer makes more tokens of a text than it has bytes. */
export const boundChatUsage = (request: ChatCompletionRequest, bodyBytes: number): UsageBounds => {
  const media = mediaOf(request)
  const { web_search_options: search } = request
  return {
    inputTokensMax: bodyBytes - media.bytes + media.tokensMax,
    unmeasured: media.unmeasured,
    outputTokensMax: outputTokensMaxOf(request),
    choices: request.n ?? 1,
    audio: media.audio || (request.modalities ?? []).includes('audio') || Boolean(request.audio),
    image: media.image,
    ...(typeof request.service_tier === 'string' ? { serviceTier: request.service_tier } : {}),
    toolCallsMax:
      search === undefined ? builtInSearch() : { ...builtInSearch(search?.search_context_size), ...webSearches() },
  }
}
