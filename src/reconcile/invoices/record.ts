import { isUnits } from '../../domain/video/settle.ts'
import { isObject, type JsonObject } from '../../encoding/json.ts'
import { type ExactDecimal, parseDecimal, toWholeNumber } from './decimal.ts'
import { toUnitParts } from './row.ts'

export class RowProblem extends Error {
  override readonly name = 'RowProblem'
}

export type Fields = JsonObject

/** Null for an absent, null or blank text. Throws RowProblem for anything but a text. */
export const textAt = (fields: Fields, name: string): string | null => {
  const value = fields[name]
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value.trim() === '' ? null : value.trim()
  throw new RowProblem(`${name} is neither a text nor a number`)
}

const quoteShort = (text: string): string => JSON.stringify(text.slice(0, 60))

/** Null if the field is absent or blank. Throws RowProblem unless it is a decimal number. */
export const decimalAt = (fields: Fields, name: string): ExactDecimal | null => {
  const text = textAt(fields, name)
  if (text === null) return null
  const decimal = parseDecimal(text)
  if (decimal === null) throw new RowProblem(`${name} is no number: ${quoteShort(text)}`)
  return decimal
}

/** Null if the field is absent or blank. Throws RowProblem unless it is a whole number, zero or above. */
export const countAt = (fields: Fields, name: string): bigint | null => {
  const decimal = decimalAt(fields, name)
  const count = decimal === null ? null : toWholeNumber(decimal)
  if (decimal !== null && count === null)
    throw new RowProblem(`${name} is no whole number of zero or more: ${quoteShort(textAt(fields, name)!)}`)
  return count
}

export const requiredCountAt = (fields: Fields, name: string): bigint => {
  const count = countAt(fields, name)
  if (count === null) throw new RowProblem(`${name} is missing`)
  return count
}

/** Units of video in 1e-12, rounded half up. Throws RowProblem for a quantity that the gateway would not charge. */
export const unitsAt = (fields: Fields, name: string): bigint | null => {
  const text = textAt(fields, name)
  if (text === null) return null
  if (!isUnits(text)) throw new RowProblem(`${name} is no quantity: ${quoteShort(text)}`)
  return toUnitParts(text)
}

export const assertUsd = (currency: string | null): void => {
  if (currency !== null && currency.toLowerCase() !== 'usd')
    throw new RowProblem(`the currency is ${quoteShort(currency)}; only USD is compared`)
}

export const objectAt = (fields: Fields, name: string): Fields => {
  const value = fields[name]
  if (value === undefined || value === null) return {}
  if (isObject(value)) return value
  throw new RowProblem(`${name} is no object`)
}
