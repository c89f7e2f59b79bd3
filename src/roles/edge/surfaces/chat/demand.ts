import type { Demand } from '../../../../domain/pricing/worst-case.ts'
import { limits } from '../../../../limits.ts'
import type { ChatCompletionRequest, ContentPart } from './request.types.ts'

/** What the parts of a request that are not text weigh. */
interface Media {
  /** Bytes of the body that are no text. */
  readonly bytes: number
  readonly tokensMax: number
  readonly audio: boolean
  readonly image: boolean
  readonly unmeasured: boolean
}

const none: Media = { bytes: 0, tokensMax: 0, audio: false, image: false, unmeasured: false }

const imageOf = (url: string): Media => ({
  bytes: url.startsWith('data:') ? Buffer.byteLength(url) : 0,
  tokensMax: limits.imageTokensMax,
  audio: false,
  image: true,
  unmeasured: /^data:(?!image\/)/i.test(url),
})

const audioOf = (data: string): Media => ({
  bytes: Buffer.byteLength(data),
  tokensMax: Math.max(limits.audioTokensMin, Math.ceil(data.length / limits.audioBytesPerTokenMin)),
  audio: true,
  image: false,
  unmeasured: false,
})

/** Only the member that the part's type names goes by its own measure: whatever else is there counts as text. */
const mediaOfPart = ({ type, image_url, input_audio }: ContentPart): Media => {
  if (type === 'image_url' && image_url !== undefined) return imageOf(image_url.url)
  if (type === 'input_audio' && input_audio !== undefined) return audioOf(input_audio.data)
  return type === 'file' ? { ...none, unmeasured: true } : none
}

const both = (one: Media, other: Media): Media => ({
  bytes: one.bytes + other.bytes,
  tokensMax: one.tokensMax + other.tokensMax,
  audio: one.audio || other.audio,
  image: one.image || other.image,
  unmeasured: one.unmeasured || other.unmeasured,
})

/** An answer's audio of an earlier turn, by its id. */
const earlierAudio: Media = { ...none, audio: true, unmeasured: true }

const mediaOf = ({ messages }: ChatCompletionRequest): Media => {
  let media = none
  for (const { content, audio } of messages) {
    if (Array.isArray(content)) for (const part of content) media = both(media, mediaOfPart(part))
    if (audio) media = both(media, earlierAudio)
  }
  return media
}

/** Where two limits are given, vendors differ on which one counts. */
const outputTokensMaxOf = ({ max_tokens, max_completion_tokens }: ChatCompletionRequest): number | null => {
  const given = [max_tokens, max_completion_tokens].filter((limit) => typeof limit === 'number')
  return given.length === 0 ? null : Math.max(...given)
}

/** The most a chat request can ask for. No tokenizer makes more tokens of a text than it has bytes. */
export const demandOf = (request: ChatCompletionRequest, bodyBytes: number): Demand => {
  const media = mediaOf(request)
  return {
    inputTokensMax: bodyBytes - media.bytes + media.tokensMax,
    unmeasured: media.unmeasured,
    outputTokensMax: outputTokensMaxOf(request),
    choices: request.n ?? 1,
    audio: media.audio || (request.modalities ?? []).includes('audio') || Boolean(request.audio),
    image: media.image,
    // Search models search once for every request; other models have no price under this name.
    toolCallsMax: { [`web_search_${request.web_search_options?.search_context_size ?? 'medium'}`]: 1 },
  }
}
