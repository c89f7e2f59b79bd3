import type { Directives } from './directives.ts'

/**
 * Tokens of one call, whatever its format: `prompt` includes cached, cache-write (of both kinds), audio, image and tool ones,
 * `output` includes reasoning and audio ones.
 */
export interface Tokens {
  readonly prompt: number
  readonly cached: number
  /** Kept for five minutes, or for as long as the provider sees fit. */
  readonly cacheWrite: number
  readonly cacheWrite1h: number
  readonly audioIn: number
  readonly image: number
  readonly output: number
  readonly reasoning: number
  readonly audioOut: number
}

/** `visible` leaves reasoning out. */
export interface Counted {
  readonly words: number
  readonly audioIn: number
  readonly image: number
  readonly visible: number
  readonly reasoning: number
  readonly audioOut: number
}

/** For one image, and for one piece of audio, in a request. */
export const imageTokens = 85
export const audioTokens = 50

/** In chat, `completion_tokens` is the figure on the wire, which leaves reasoning out in the profiles xai and gemini. */
export const reportsReasoningSeparately = (directives: Directives): boolean =>
  directives.profile === 'xai' || directives.profile === 'gemini'

const outputOf = (directives: Directives, visible: number, reasoning: number, apart: boolean): number => {
  const directed = directives.completion_tokens
  if (directed === undefined) return visible + reasoning
  return apart ? directed + reasoning : directed
}

/**
 * The counted figures, overridden by those of the directives; a total that is not overridden is raised to hold its
 * parts. `apart`: the output's figure on the wire leaves reasoning out.
 */
export const tokensOf = (counted: Counted, directives: Directives, apart: boolean): Tokens => {
  const cached = directives.cached_tokens ?? 0
  const cacheWrite = directives.cache_write_tokens ?? 0
  const audioIn = directives.audio_in_tokens ?? counted.audioIn
  const image = directives.image_tokens ?? counted.image
  const promptCounted = Math.max(counted.words + audioIn + image, cached + cacheWrite + audioIn + image)
  const reasoning = directives.reasoning_tokens ?? counted.reasoning
  const audioOut = directives.audio_out_tokens ?? counted.audioOut
  return {
    prompt: directives.prompt_tokens ?? promptCounted,
    cached,
    cacheWrite,
    cacheWrite1h: 0,
    audioIn,
    image,
    output: outputOf(directives, Math.max(counted.visible, audioOut), reasoning, apart),
    reasoning,
    audioOut,
  }
}
