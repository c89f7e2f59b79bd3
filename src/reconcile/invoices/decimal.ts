import { divideRoundingHalfUp } from '../../domain/money.ts'

/** Exact: `digits` × 10^−`decimals`. */
export interface ExactDecimal {
  readonly digits: bigint
  /** Zero or above: as many as were written. */
  readonly decimals: number
}

const pattern = /^([+-]?)(\d{1,60})(?:\.(\d{0,60}))?(?:[eE]([+-]?\d{1,5}))?$/
const exponentMax = 30
export const picoDecimals = 12

const scaled = (digits: bigint, decimals: number): ExactDecimal =>
  decimals >= 0 ? { digits, decimals } : { digits: digits * 10n ** BigInt(-decimals), decimals: 0 }

/** '0.06', '-3', '4.5E-7' and '0E-6176', as they are written; null for anything else, and for a number out of range. */
export const parseDecimal = (text: string): ExactDecimal | null => {
  const match = pattern.exec(text.trim())
  if (match === null) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n)
  if (digits === 0n) return { digits, decimals: exponent === '0' ? fraction.length : 0 }
  if (Math.abs(Number(exponent)) > exponentMax) return null
  return scaled(digits, fraction.length - Number(exponent))
}

const divideSigned = (dividend: bigint, divisor: bigint): bigint =>
  dividend < 0n ? -divideRoundingHalfUp(-dividend, divisor) : divideRoundingHalfUp(dividend, divisor)

/** In 1e-12 of its unit, rounded half away from zero. */
export const picosRoundingHalfUp = ({ digits, decimals }: ExactDecimal): bigint =>
  decimals <= picoDecimals
    ? digits * 10n ** BigInt(picoDecimals - decimals)
    : divideSigned(digits, 10n ** BigInt(decimals - picoDecimals))

export const toWholeNumber = ({ digits, decimals }: ExactDecimal): bigint | null => {
  const unit = 10n ** BigInt(decimals)
  return digits >= 0n && digits % unit === 0n ? digits / unit : null
}

export const hundredth = ({ digits, decimals }: ExactDecimal): ExactDecimal => ({ digits, decimals: decimals + 2 })

/** Rounds half away from zero. `per` is above zero. */
export const productRoundingHalfUp = (quantity: bigint, picos: bigint, per: bigint): bigint =>
  divideSigned(quantity * picos, per)
