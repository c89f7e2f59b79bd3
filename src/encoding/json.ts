export type JsonObject = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value itself, or an object without members where it is none. */
export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** The value itself, or an empty list where it is none. */
export const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The parsed text, or undefined where it is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
