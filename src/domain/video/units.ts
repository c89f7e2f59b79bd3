import { divideRoundingHalfUp, parseUsd } from '../money.ts'

/** A number of units: `digits` × 10^-`decimals`, exactly. */
export interface Units {
  readonly digits: bigint
  /** Below zero for a whole number that ends in zeros. */
  readonly decimals: number
}

/** A task costs a few units; more digits are not a deduction but a mistake. */
export const unitsWholeDigitsMax = 9
/** Sums of floats have some 17; anything finer lies far below a pico-dollar. */
export const unitsDecimalsMax = 64

const spelling = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

const none: Units = { digits: 0n, decimals: 0 }

/** Any decimal not below zero, however spelled: `04.50`, ` .5 `, `45e-1`. Null for all else, and too many digits. */
export const readUnits = (text: string): Units | null => {
  const match = spelling.exec(text.trim())
  if (match === null) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const leading = (whole + fraction).replace(/^0+/, '')
  if (leading === '') return none
  const digits = leading.replace(/0+$/, '')
  const decimals = fraction.length - Number(exponent) - (leading.length - digits.length)
  const isBounded = decimals <= unitsDecimalsMax && digits.length - decimals <= unitsWholeDigitsMax
  return sign === '-' || !isBounded ? null : { digits: BigInt(digits), decimals }
}

/** The shortest exact decimal: `4.5`. */
export const formatUnits = ({ digits, decimals }: Units): string => {
  if (decimals <= 0) return `${digits}${'0'.repeat(-decimals)}`
  const text = digits.toString().padStart(decimals + 1, '0')
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}

/** What units cost at `unitPrice` USD, in picos: exact, but for what lies below a pico-dollar, rounded half up here. */
export const priceRoundingHalfUp = ({ digits, decimals }: Units, unitPrice: string): bigint => {
  const whole = digits * parseUsd(unitPrice) * 10n ** BigInt(Math.max(0, -decimals))
  return divideRoundingHalfUp(whole, 10n ** BigInt(Math.max(0, decimals)))
}
