export type JsonObject = { readonly [key: string]: unknown }

declare global {
  interface JSON {
    rawJSON(text: string): object
    isRawJSON(value: unknown): boolean
  }
}

/** An integer that a JavaScript number would round: it is written as it was read. */
export class WideInteger {
  readonly #digits: string

  constructor(digits: string) {
    this.#digits = digits
  }

  get rounded(): number {
    return Number(this.#digits)
  }

  toJSON(): object {
    return JSON.rawJSON(this.#digits)
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WideInteger)

export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

export const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '')

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const integer = /^-?\d+$/

const keepDigits = (_name: string, value: unknown, context?: { readonly source?: string }): unknown => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return integer.test(context?.source ?? '') ? new WideInteger(context?.source ?? '') : value
}

/** As `JSON.parse`, but with a `WideInteger` in place of each integer that a number would round. Takes three times as long. */
export const parseWithWideIntegers = (text: string): unknown => JSON.parse(text, keepDigits)

/** Matches every text with such an integer, and a few others. */
const longNumber = /[:,[\s]-?\d{16}/

/** For this text and each part of it: a part has not all that a long number is found by. */
export const exactParserOf = (text: string): ((text: string) => unknown) =>
  longNumber.test(text) ? parseWithWideIntegers : JSON.parse

/** As `parseJson`, for a text that is written again: its integers stay the same. */
export const parseExactJson = (text: string): unknown => {
  try {
    return exactParserOf(text)(text)
  } catch {
    return undefined
  }
}

export const parseJsonBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): unknown =>
  parseExactJson(Buffer.from(buffer, byteOffset, byteLength).toString())
