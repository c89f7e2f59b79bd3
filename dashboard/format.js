// @ts-check
/** How figures and times are written. Amounts come as exact decimals and stay so: none becomes a float to be shown. */

const minus = '\u2212'
/** As wide as a digit. */
const figureSpace = '\u2007'
const decimalsShown = 2
const picoDigits = 12

/** @param {string} text */
const partsOf = (text) => {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  return { sign, whole, fraction }
}

/** @param {string} whole */
const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ',')

/** How many decimals an amount is shown with.
 *
 * @param {string} text
 */
export const decimalsOf = (text) => Math.max(decimalsShown, partsOf(text).fraction.length)

/** `-1234.5` → `−1,234.50`: every digit, at least two decimals. What is no decimal stays as it is.
 *
 * @param {string} text
 */
export const money = (text) => {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return text
  const { sign, whole, fraction } = partsOf(text)
  return `${sign === '' ? '' : minus}${grouped(whole)}.${fraction.padEnd(decimalsShown, '0')}`
}

/** The same, filled up with blanks as wide as digits, so that a column's decimal points are below each other.
 *
 * @param {string} text
 * @param {number} decimals
 */
export const alignedMoney = (text, decimals) =>
  money(text) + figureSpace.repeat(Math.max(0, decimals - decimalsOf(text)))

/** @param {string} text */
const picosOf = (text) => {
  const { sign, whole, fraction } = partsOf(text)
  const picos = BigInt(whole + fraction.slice(0, picoDigits).padEnd(picoDigits, '0'))
  return sign === '' ? picos : -picos
}

/** The exact sum of decimal amounts.
 *
 * @param {readonly string[]} texts
 */
export const sumOf = (texts) => {
  const picos = texts.reduce((sum, text) => sum + picosOf(text), 0n)
  const digits = (picos < 0n ? -picos : picos).toString().padStart(picoDigits + 1, '0')
  const fraction = digits.slice(-picoDigits).replace(/0+$/, '')
  return `${picos < 0n ? '-' : ''}${digits.slice(0, -picoDigits)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Negative, zero or positive, as the first amount is below, equal to or above the second.
 *
 * @param {string} one
 * @param {string} other
 */
export const compareAmounts = (one, other) => {
  const difference = picosOf(one) - picosOf(other)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Of a rate, which no one needs to the last digit: two decimals, or two digits where it is below a cent; the rest is cut off.
 *
 * @param {string} text
 */
export const roughly = (text) => {
  const { sign, whole, fraction } = partsOf(text)
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  const decimals = whole === '0' ? Math.max(decimalsShown, zeros + decimalsShown) : decimalsShown
  return money(`${sign}${whole}.${fraction.slice(0, decimals).padEnd(decimals, '0')}`)
}

/** For drawing alone.
 *
 * @param {string} text
 */
export const lengthOf = (text) => Number(text)

/** A whole number with its thousands separated.
 *
 * @param {number | null} value
 */
export const count = (value) => (value === null ? '' : grouped(String(value)))

/**
 * @param {string} iso
 * @param {{ locale?: string, timeZone?: string }} [where] the viewer's own where it is absent
 */
export const localTime = (iso, where) => (where === undefined ? ownTime : timeFormat(where)).format(new Date(iso))

/** @param {{ locale?: string, timeZone?: string }} where */
const timeFormat = ({ locale, timeZone }) =>
  new Intl.DateTimeFormat(locale, {
    ...(timeZone === undefined ? {} : { timeZone }),
    year: 'numeric',
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
/** Made once: a table writes hundreds of times. */
const ownTime = timeFormat({})

/** Writes the year of a date only where it is not the current one.
 *
 * @param {string | undefined} locale
 * @param {Intl.DateTimeFormatOptions} options
 */
const dateFormat = (locale, options) => {
  const { timeZone } = options
  const year = new Intl.DateTimeFormat('en', { ...(timeZone === undefined ? {} : { timeZone }), year: 'numeric' })
  const ofThisYear = new Intl.DateTimeFormat(locale, options)
  const ofOtherYear = new Intl.DateTimeFormat(locale, { ...options, year: 'numeric' })
  /** @param {Date} date @param {number} nowMs */
  return (date, nowMs) => (year.format(date) === year.format(nowMs) ? ofThisYear : ofOtherYear).format(date)
}

/** `22 Nov, 02:18`, or `22 Nov 2027, 02:18` in another year: where there is little room.
 *
 * @param {string} iso
 * @param {number} nowMs
 * @param {{ locale?: string, timeZone?: string }} [where]
 */
export const shortTime = (iso, nowMs, where) =>
  (where === undefined ? ownShortTime : shortTimeFormat(where))(new Date(iso), nowMs)

/** @param {{ locale?: string, timeZone?: string }} where */
const shortTimeFormat = ({ locale, timeZone }) =>
  dateFormat(locale, {
    ...(timeZone === undefined ? {} : { timeZone }),
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
const ownShortTime = shortTimeFormat({})

/** The day of an instant in the viewer's zone.
 *
 * @param {string} iso
 * @param {{ locale?: string, timeZone?: string }} [where]
 */
export const localDay = (iso, { locale, timeZone } = {}) =>
  new Intl.DateTimeFormat(locale, { ...(timeZone === undefined ? {} : { timeZone }), dateStyle: 'medium' }).format(
    new Date(iso),
  )

/** `02:18:14`, in the viewer's zone.
 *
 * @param {string} iso
 * @param {{ timeZone?: string }} [where]
 */
export const localClock = (iso, { timeZone } = {}) =>
  new Intl.DateTimeFormat('en-GB', { ...(timeZone === undefined ? {} : { timeZone }), timeStyle: 'medium' }).format(
    new Date(iso),
  )

/** `2026-11-22 00:51:02.123 UTC`
 *
 * @param {string} iso
 */
export const utcTime = (iso) => `${new Date(iso).toISOString().replace('T', ' ').replace('Z', '')} UTC`

/** A day in UTC as a calendar day, wherever the viewer is: `Sun, 22 Nov`, with the year where that is another one.
 *
 * @param {string} day
 * @param {number} nowMs
 * @param {string} [locale]
 */
export const dayText = (day, nowMs, locale) =>
  (locale === undefined ? ownDay : dayFormat(locale))(new Date(`${day}T00:00:00Z`), nowMs)

/** @param {string} [locale] */
const dayFormat = (locale) => dateFormat(locale, { timeZone: 'UTC', weekday: 'short', day: '2-digit', month: 'short' })
const ownDay = dayFormat()

/** A day in UTC without its weekday: `22 Nov`, with the year where that is another one.
 *
 * @param {string} day
 * @param {number} nowMs
 */
export const shortDay = (day, nowMs) => ownShortDay(new Date(`${day}T00:00:00Z`), nowMs)
const ownShortDay = dateFormat(undefined, { timeZone: 'UTC', day: '2-digit', month: 'short' })

export const dayMs = 86_400_000

/** The UTC day of an instant, `2026-11-22`.
 *
 * @param {number} epochMs
 */
export const utcDayAt = (epochMs) => new Date(epochMs).toISOString().slice(0, 10)

/** @param {string} month such as 2026-11 @param {number} by */
export const monthAfter = (month, by) => {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + by)).toISOString().slice(0, 7)
}

/** The viewer's time zone by its name. */
export const ownTimeZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone

const units = /** @type {const} */ ([
  ['day', dayMs],
  ['hour', 3_600_000],
  ['minute', 60_000],
])

/** `12 days`, in the largest unit of which there are at least two.
 *
 * @param {number} ms
 */
export const duration = (ms) => {
  const [name, length] = units.find(([, each]) => ms >= 2 * each) ?? ['minute', 60_000]
  const number = Math.floor(ms / length)
  return number < 1 ? 'less than a minute' : `${grouped(String(number))} ${name}${number === 1 ? '' : 's'}`
}

/** Whole milliseconds below ten seconds, else seconds. @param {number | null} ms */
export const msText = (ms) => {
  if (ms === null) return 'none'
  return ms < 10_000 ? `${grouped(String(ms))} ms` : `${grouped(String(Math.round(ms / 1_000)))} s`
}

/** One decimal place, `0.4 %`; `none` where there is nothing to have a share of. @param {number} part @param {number} whole */
export const shareText = (part, whole) => (whole === 0 ? 'none' : `${((100 * part) / whole).toFixed(1)} %`)

/** How long the money lasts, in words.
 *
 * @param {Pick<import('./types.d.ts').Runway, 'spent' | 'until'>} runway
 * @param {number} nowMs
 */
export const runwayText = ({ spent, until }, nowMs) => {
  if (until === null) return picosOf(spent) > 0n ? 'More than ten years' : 'Nothing was spent lately'
  const leftMs = Date.parse(until) - nowMs
  return leftMs <= 0 ? 'Nothing is left' : `About ${duration(leftMs)}`
}

/** A long id in short; the whole is in the row's link and in the export.
 *
 * @param {string} id
 */
export const shortId = (id) => (id.length <= 22 ? id : `${id.slice(0, 12)}…${id.slice(-8)}`)

/** `IN_PROGRESS`, `open_request` → `In progress`, `Open request`
 *
 * @param {string} word
 */
export const words = (word) => {
  const text = word.replaceAll('_', ' ').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The range of the read API for the UTC days of two date fields; empty fields are absent.
 *
 * @param {string} from
 * @param {string} to included
 */
export const rangeOf = (from, to) => ({
  ...(from === '' ? {} : { from }),
  ...(to === '' ? {} : { to }),
})
