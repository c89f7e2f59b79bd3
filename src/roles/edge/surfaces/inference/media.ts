import { sharedLimits } from '../../../../runtime/limits.ts'
import { surfaceLimits } from '../limits.ts'

/** The size of the parts of a request that are not text. */
export interface Media {
  /** Bytes of the body that are no text. */
  readonly bytes: number
  readonly tokensMax: number
  readonly audio: boolean
  readonly image: boolean
  readonly unmeasured: boolean
}

export const noMedia: Media = { bytes: 0, tokensMax: 0, audio: false, image: false, unmeasured: false }

/** The size of an unpacked file, or of content behind a reference, is unknown here. */
export const unmeasured: Media = { ...noMedia, unmeasured: true }

/** As base64 alone, without a data URL. */
export const encodedImage = (data: string): Media => ({
  ...noMedia,
  bytes: Buffer.byteLength(data),
  tokensMax: surfaceLimits.imageTokensMax,
  image: true,
})

/** By its URL, which may be a data URL. */
export const linkedImage = (url: string): Media => ({
  ...encodedImage(url.startsWith('data:') ? url : ''),
  unmeasured: /^data:(?!image\/)/i.test(url),
})

export const encodedAudio = (data: string): Media => ({
  ...noMedia,
  bytes: Buffer.byteLength(data),
  tokensMax: Math.max(surfaceLimits.audioTokensMin, Math.ceil(data.length / surfaceLimits.audioBytesPerTokenMin)),
  audio: true,
})

const both = (one: Media, other: Media): Media => ({
  bytes: one.bytes + other.bytes,
  tokensMax: one.tokensMax + other.tokensMax,
  audio: one.audio || other.audio,
  image: one.image || other.image,
  unmeasured: one.unmeasured || other.unmeasured,
})

export const sumOfMedia = (all: readonly Media[]): Media => all.reduce(both, noMedia)

const ordinarySearch: { readonly [item: string]: number } = { web_search_medium: 1 }

/** What models that search the web for every request charge for it; other models have no price under this name. */
export const builtInSearch = (contextSize = 'medium'): { readonly [item: string]: number } =>
  contextSize === 'medium' ? ordinarySearch : { [`web_search_${contextSize}`]: 1 }

/** The most web searches of a request, under each name that a provider charges them by. */
export const webSearches = (callsMax: number = sharedLimits.webSearchesMax): { readonly [item: string]: number } => ({
  web_search: callsMax,
  grounded_prompt: 1,
  grounding_query: sharedLimits.webSearchesMax, // No caller can bound these.
})
