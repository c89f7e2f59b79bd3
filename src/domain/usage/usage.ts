import type { Usage } from '../../events/types.ts'

export type { Usage }

export type UsageSource = 'reported' | 'estimated'

export const noUsage: Usage = {
  inputUncached: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  outputTotal: 0,
  outputReasoning: 0,
  outputAudio: 0,
  outputImage: 0,
  toolCalls: {},
  promptTotal: 0,
}

export interface PromptTokens {
  readonly total: number
  readonly cacheRead?: number
  /** Of what was read from the cache. */
  readonly cacheReadAudio?: number
  readonly cacheReadImage?: number
  readonly cacheWrite5m?: number
  readonly cacheWrite1h?: number
  readonly cacheWrite12h?: number
  /** Without what was read from the cache, where that is reported. */
  readonly audio?: number
  readonly image?: number
}

export interface OutputTokens {
  readonly total: number
  readonly reasoning?: number
  readonly audio?: number
  readonly image?: number
}

/** However long it is kept. */
export const cacheWriteOf = ({ cacheWrite5m, cacheWrite1h, cacheWrite12h = 0 }: Usage): number =>
  cacheWrite5m + cacheWrite1h + cacheWrite12h

/** Takes up to `wanted` from what is remaining, so that parts never add up to more than their whole. */
const allot = (remaining: number, wanted: number | undefined): number => Math.min(remaining, Math.max(0, wanted ?? 0))

/** A provider's parts may overlap (cached audio is both); cache parts are taken first, as in the provider's bill. */
export const usageOf = (prompt: PromptTokens, output: OutputTokens, toolCalls: Usage['toolCalls'] = {}): Usage => {
  let remaining = Math.max(0, prompt.total)
  const take = (wanted: number | undefined): number => {
    const taken = allot(remaining, wanted)
    remaining -= taken
    return taken
  }
  const cacheRead = take(prompt.cacheRead)
  const cacheWrite5m = take(prompt.cacheWrite5m)
  const cacheWrite1h = take(prompt.cacheWrite1h)
  const cacheWrite12h = take(prompt.cacheWrite12h)
  const cacheReadAudio = allot(cacheRead, prompt.cacheReadAudio)
  const cacheReadImage = allot(cacheRead - cacheReadAudio, prompt.cacheReadImage)
  const inputAudio = take(prompt.audio)
  const inputImage = take(prompt.image)
  const outputTotal = Math.max(0, output.total)
  const outputReasoning = allot(outputTotal, output.reasoning)
  const outputAudio = allot(outputTotal - outputReasoning, output.audio)
  const outputImage = allot(outputTotal - outputReasoning - outputAudio, output.image)
  return {
    inputUncached: remaining,
    cacheRead,
    ...(cacheReadAudio === 0 ? {} : { cacheReadAudio }),
    ...(cacheReadImage === 0 ? {} : { cacheReadImage }),
    cacheWrite5m,
    cacheWrite1h,
    ...(cacheWrite12h === 0 ? {} : { cacheWrite12h }),
    inputAudio,
    inputImage,
    outputTotal,
    outputReasoning,
    outputAudio,
    outputImage,
    toolCalls,
    promptTotal: Math.max(0, prompt.total),
  }
}
