import type { RateView } from './rate-share.ts'

/** In OpenAI's format: `120ms`, `6s`, `1m0s`. */
export const durationText = (ms: number): string => {
  if (ms > 0 && ms < 1_000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms % 60_000) / 1_000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}

const tighter = (one: RateView, other: RateView): RateView => {
  if (one.remaining !== other.remaining) return one.remaining < other.remaining ? one : other
  return one.resetMs >= other.resetMs ? one : other
}

/** Headers of the tightest of the limits. */
export const rateHeaders = (
  noun: 'Requests' | 'Tokens',
  views: readonly RateView[],
): Readonly<Record<string, string>> => {
  if (views.length === 0) return {}
  const { perMinute, remaining, resetMs } = views.reduce(tighter)
  return {
    [`X-RateLimit-Limit-${noun}`]: String(perMinute),
    [`X-RateLimit-Remaining-${noun}`]: String(remaining),
    [`X-RateLimit-Reset-${noun}`]: durationText(resetMs),
  }
}
