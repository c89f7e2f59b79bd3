/** Amounts are bigint pico-dollars (1e-12 USD) inside, decimal USD strings outside. */

export const picosPerUsd = 1_000_000_000_000n
const decimalsMax = 12
const usdPattern = /^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,12})?$/

/** '2.50' → 2_500_000_000_000n. Throws RangeError for anything that is not a plain decimal with at most 12 decimals. */
export const parseUsd = (text: string): bigint => {
  if (!usdPattern.test(text)) throw new RangeError(`not an amount in USD: ${JSON.stringify(text)}`)
  const point = text.indexOf('.')
  if (point === -1) return BigInt(text) * picosPerUsd
  return BigInt(text.slice(0, point) + text.slice(point + 1).padEnd(decimalsMax, '0'))
}

export const withoutSign = (picos: bigint): bigint => (picos < 0n ? -picos : picos)

/** 2_500_000_000_000n → '2.5': the shortest exact decimal. */
export const formatUsd = (picos: bigint): string => {
  const digits = withoutSign(picos)
    .toString()
    .padStart(decimalsMax + 1, '0')
  const point = digits.length - decimalsMax
  let end = digits.length
  while (end > point && digits[end - 1] === '0') end -= 1
  const whole = (picos < 0n ? '-' : '') + digits.slice(0, point)
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`
}

/** The only rounding there is. Both arguments are zero or above, the divisor above zero. */
export const divideRoundingHalfUp = (dividend: bigint, divisor: bigint): bigint =>
  (2n * dividend + divisor) / (2n * divisor)

export const maxOf = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((most, each) => (each > most ? each : most), first)
export const minOf = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((least, each) => (each < least ? each : least), first)

const wholeDigitsMax = 15
const tooManyPicos = 10n ** BigInt(wholeDigitsMax) * picosPerUsd

/** False for an amount too large for an event. */
export const isUsd = (picos: bigint): boolean => maxOf(picos, -picos) < tooManyPicos
