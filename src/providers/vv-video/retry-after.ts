import { sharedLimits } from '../../runtime/limits.ts'

const bounded = (delayMs: number): number =>
  Math.min(sharedLimits.upstreamRetryAfterSecondsMax * 1_000, Math.max(0, Math.ceil(delayMs)))

/** Milliseconds, of a `Retry-After` in seconds or as an HTTP date; null where it has no usable value. */
export const readRetryAfterMs = (header: string | string[] | undefined, nowMs: number): number | null => {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return bounded(Number(text) * 1_000)
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? null : bounded(dateMs - nowMs)
}
