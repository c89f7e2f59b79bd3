/** `2026-11-21` of `2026-11-21T23:59:59.999Z`. */
export const utcDayOf = (time: string): string => time.slice(0, 10)

/** The day in UTC, `2026-11-21`, of milliseconds since the epoch. */
export const utcDayAt = (epochMs: number): string => utcDayOf(new Date(epochMs).toISOString())

const dayPattern = /^\d{4}-\d{2}-\d{2}$/
const instantPattern = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/

/** `Date.parse` takes February 30 for March 2: such a day is rejected. */
const isDay = (text: string): boolean => {
  const midnightMs = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(text)
}

/** A day in UTC, `2026-03-01`, unchanged; null for what is not a day, and for one before 1970. */
export const parseDay = (text: string): string | null =>
  dayPattern.test(text) && isDay(text) && Date.parse(text) >= 0 ? text : null

/** `2026-03-01T12:00:00Z`, at most three decimals, or a day: its midnight in UTC. Null for others, and before 1970. */
export const parseInstant = (text: string): Date | null => {
  const day = dayPattern.test(text) ? text : instantPattern.exec(text)?.[1]
  const ms = day !== undefined && isDay(day) ? Date.parse(text) : Number.NaN
  return ms >= 0 ? new Date(ms) : null
}
