/** `2026-11-21` of `2026-11-21T23:59:59.999Z`. */
export const utcDayOf = (time: string): string => time.slice(0, 10)

const instantAt = (epochMs: number): string => new Date(epochMs).toISOString()

/** Writes as `Date.toISOString` does; for many instants of the same second, since V8 takes long for each. */
export const instantWriter = (): ((epochMs: number) => string) => {
  let second = Number.NaN
  let text = ''
  return (epochMs) => {
    const ms = Math.trunc(epochMs)
    const its = Math.floor(ms / 1_000)
    if (its !== second) {
      text = instantAt(its * 1_000).slice(0, -'000Z'.length)
      second = its
    }
    return `${text}${String(ms - its * 1_000).padStart(3, '0')}Z`
  }
}

let lastDay = Number.NaN
let lastDayText = ''

/** The day in UTC, `2026-11-21`, of milliseconds since the epoch; that of the last one is kept. */
export const utcDayAt = (epochMs: number): string => {
  const day = Math.floor(epochMs / dayMs)
  if (day !== lastDay) {
    lastDayText = utcDayOf(instantAt(epochMs))
    lastDay = day
  }
  return lastDayText
}

export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000
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

const lastEndMs = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * The end of a range, which is the first instant after it: an instant is its own, a day's is the next midnight in UTC, so
 * that a day is in the range that it ends. Null as `parseInstant`, and after the year 9999.
 */
export const parseRangeEnd = (text: string): Date | null => {
  const instant = parseInstant(text)
  if (instant === null || !dayPattern.test(text)) return instant
  const endMs = instant.getTime() + dayMs
  return endMs <= lastEndMs ? new Date(endMs) : null
}

/** A month in UTC, `2026-03`: its first instant, and the first of the next. Null for others, before 1970, and for the last of 9999. */
export const parseMonth = (text: string): { readonly from: Date; readonly to: Date } | null => {
  const day = /^\d{4}-\d{2}$/.test(text) ? parseDay(`${text}-01`) : null
  if (day === null) return null
  const from = new Date(day)
  const toMs = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)
  return toMs <= lastEndMs ? { from, to: new Date(toMs) } : null
}
