import { dayMs } from '../../domain/instant.ts'

const lengthOfDay = 'YYYY-MM-DD'.length
const dayPattern = /^\d{4}-\d{2}-\d{2}$/
const instantPattern = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/

/** YYYY-MM-DD. */
export type DayFormatter = (atMs: number) => string

const lastInstantMs = Date.UTC(9999, 11, 31)

/** An instant in another unit than milliseconds has a year of more than four digits. */
export const isInstant = (ms: number): boolean => ms >= 0 && ms < lastInstantMs

const utcDay: DayFormatter = (atMs) => new Date(atMs).toISOString().slice(0, lengthOfDay)

/** An offset, or an abbreviation such as CET, is another zone in PostgreSQL than in JavaScript. */
const zonePattern = /^(?:UTC|[a-z]\w*(?:\/[\w+-]+)+)$/i

/** True for a zone whose name means the same in PostgreSQL and in JavaScript. */
export const isZoneName = (text: string): boolean => {
  if (!zonePattern.test(text)) return false
  try {
    createDayFormatter(text)
    return true
  } catch (fault) {
    if (fault instanceof RangeError) return false
    throw fault
  }
}

/** Throws RangeError for an unknown time zone. */
export const createDayFormatter = (timezone: string): DayFormatter => {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' })
  return timezone === 'UTC' ? utcDay : (atMs) => format.format(atMs)
}

const midnightMs = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/** February 30 is none. */
export const isDay = (text: string): boolean => {
  const ms = dayPattern.test(text) ? midnightMs(text) : Number.NaN
  return !Number.isNaN(ms) && utcDay(ms) === text
}

/** NaN unless the text is an instant with its offset. */
export const instantMs = (text: string): number =>
  instantPattern.test(text) && isDay(text.slice(0, lengthOfDay)) ? Date.parse(text) : Number.NaN

export const dayAfter = (day: string): string => utcDay(midnightMs(day) + dayMs)

/** Within the day in every time zone, in milliseconds since the epoch. */
export const noonMs = (day: string): number => midnightMs(day) + dayMs / 2
