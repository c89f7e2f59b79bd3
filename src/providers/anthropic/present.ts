import { asText } from '../../encoding/json.ts'

/** False for null, for a field that is absent, and for an empty list. */
export const isPresent = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

const shownCharacters = 64

export const shortened = (value: unknown): string => asText(value).slice(0, shownCharacters)
