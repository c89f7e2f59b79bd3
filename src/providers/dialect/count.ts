/** A whole number, zero or above; undefined for anything else. */
export const countOf = (value: unknown): number | undefined => {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  const whole = Math.trunc(value)
  return Number.isSafeInteger(whole) && whole >= 0 ? whole : undefined
}
