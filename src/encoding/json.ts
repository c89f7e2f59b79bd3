export type JsonObject = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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

export const parseJsonBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): unknown =>
  parseJson(Buffer.from(buffer, byteOffset, byteLength).toString())

const sorted = (_name: string, value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((name) => [name, value[name]]),
      )
    : value

/** Equal values give equal text, in whichever order their members were written. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sorted)
