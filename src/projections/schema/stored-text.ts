/** PostgreSQL text holds neither U+0000 nor a lone surrogate: these, and U+E000, become U+E000 and four hex digits. */
const mark = '\ue000'
const everyUnstorable = /\p{Cc}|\p{Surrogate}|\ue000/gu
const everyStored = /\ue000([0-9a-f]{4})/g

const isStorable = (text: string): boolean => !text.includes('\0') && !text.includes(mark) && text.isWellFormed()

const encodeUnit = (unit: string): string =>
  isStorable(unit) ? unit : `${mark}${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

export const storedText = (text: string): string =>
  isStorable(text) ? text : text.replace(everyUnstorable, encodeUnit)

export const restoredText = (stored: string): string =>
  stored.replace(everyStored, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))

export const storedOrNull = (text: string | null): string | null => (text === null ? null : storedText(text))
export const restoredOrNull = (stored: string | null): string | null => (stored === null ? null : restoredText(stored))

type Tags = Readonly<Record<string, string>>

export const restoredTags = (stored: Tags | null): Tags | null =>
  stored && Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, restoredText(value)]))
