// @ts-check
import { barChart, daySlot, daysBetween, seriesColour, seriesMax } from '../charts.js'
import { h } from '../dom.js'
import { compareAmounts, count, dayMs, money, sumOf, utcDayAt } from '../format.js'
import { table, usd, workspaceLink } from '../parts.js'

/** @typedef {import('../types.d.ts').Report['rows'][number]} Row */

export const intervals = /** @type {const} */ ([
  ['hour', 'Hourly, this month'],
  ['day', 'Daily, two months'],
  ['week', 'Weekly, six months'],
  ['month', 'Monthly, a year'],
])
/** @typedef {(typeof intervals)[number][0]} Interval */
export const monthsOf = /** @type {const} */ ({ hour: 1, day: 2, week: 6, month: 12 })
const hourMs = 3_600_000

export const parts = /** @type {const} */ ([
  ['model', 'Model'],
  ['provider', 'Provider'],
  ['workspace', 'Workspace'],
  ['tag', 'Tag'],
])

/** The months up to the present one, oldest first: `2026-11`. @param {number} number */
export const lastMonths = (number) => {
  const now = new Date()
  return Array.from({ length: number }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (number - 1 - back))).toISOString().slice(0, 7),
  )
}

/** @param {readonly Row[]} rows */
export const netOf = (rows) => sumOf(rows.map(({ net }) => net))

/** @param {Row} row @param {string} part */
const partName = ({ group }, part) => {
  if (part === 'provider') return (group['model'] ?? '').split('/')[0] ?? ''
  return group[part] ?? ''
}

/** Sums by a name, the largest first. @param {readonly Row[]} rows @param {(row: Row) => string} nameOf */
export const sumsBy = (rows, nameOf) =>
  [...Map.groupBy(rows, nameOf)]
    .map(([name, some]) => ({
      name,
      net: netOf(some),
      requests: some.reduce((sum, { requests }) => sum + requests, 0),
    }))
    .toSorted((one, other) => compareAmounts(other.net, one.net))

/** @param {Interval} interval @param {readonly Row[]} rows @returns {readonly { key: string, label: string, title: string }[]} */
const slotsOf = (interval, rows) => {
  if (interval === 'day') {
    const first = `${lastMonths(2)[0]}-01`
    return daysBetween(first, utcDayAt(Date.now())).map((day) => ({ key: day, ...daySlot(day) }))
  }
  if (interval === 'hour') {
    const hours = Math.ceil((Date.now() - Date.parse(`${lastMonths(1)[0]}-01`)) / hourMs)
    return Array.from({ length: hours }, (_, back) => {
      const key = `${new Date(Date.now() - (hours - 1 - back) * hourMs).toISOString().slice(0, 13)}:00Z`
      const { label, title } = daySlot(key.slice(0, 10))
      return {
        key,
        label: key.endsWith('T00:00Z') ? label : `${label}, ${key.slice(11, 13)}h`,
        title: `${title}, ${key.slice(11, 16)}`,
      }
    })
  }
  const keys =
    interval === 'month' ? lastMonths(12) : [...new Set(rows.map(({ group }) => group['week'] ?? ''))].toSorted()
  return keys.map((key) => ({ key, label: key, title: `${key} (UTC)` }))
}

/** The days of a slot, both included. @param {Interval} interval @param {string} key */
const daysOf = (interval, key) => {
  if (interval === 'month') {
    const [year = 0, month = 1] = key.split('-').map(Number)
    return { from: `${key}-01`, to: utcDayAt(Date.UTC(year, month, 0)) }
  }
  if (interval !== 'week') return { from: key.slice(0, 10), to: key.slice(0, 10) }
  const [year = 0, week = 1] = key.split('-W').map(Number)
  // The first week of ISO 8601 has the fourth of January in it.
  const fourth = new Date(Date.UTC(year, 0, 4))
  const monday = fourth.getTime() + ((week - 1) * 7 - ((fourth.getUTCDay() + 6) % 7)) * dayMs
  return { from: utcDayAt(monday), to: utcDayAt(monday + 6 * dayMs) }
}

/** As few bars of a new deployment are not beside weeks of nothing. */
const slotsMin = 14

/** @param {ReturnType<typeof slotsOf>} slots @param {readonly Row[]} rows @param {Interval} interval */
const withoutEmptyStart = (slots, rows, interval) => {
  const spent = new Set(rows.map(({ group }) => group[interval]))
  const first = slots.findIndex(({ key }) => spent.has(key))
  return slots.slice(Math.max(0, Math.min(first, slots.length - slotsMin)))
}

/**
 * The chart, its legend, and the same as a table.
 *
 * @param {readonly Row[]} rows
 * @param {{ interval: Interval, part: string, names: ReadonlyMap<string, string>, signal: AbortSignal }} options `names` of workspaces by their ids
 */
export const stacked = (rows, { interval, part, names, signal }) => {
  const sums = sumsBy(rows, (row) => partName(row, part))
  const shown = (/** @type {string} */ name) => (part === 'workspace' ? (names.get(name) ?? name) : name)
  if (sums.length === 0) return [h('p', { class: 'empty' }, 'Nothing was spent in this time.')]
  const slots = withoutEmptyStart(slotsOf(interval, rows), rows, interval)
  const named = new Set(sums.slice(0, sums.length > seriesMax ? seriesMax - 1 : seriesMax).map(({ name }) => name))
  const others = 'all others'
  const bySeries = Map.groupBy(rows, (row) => (named.has(partName(row, part)) ? partName(row, part) : others))
  const series = [...named, ...(bySeries.has(others) ? [others] : [])].map((name) => {
    const bySlot = Map.groupBy(bySeries.get(name) ?? [], ({ group }) => group[interval] ?? '')
    return { name: shown(name), amounts: slots.map(({ key }) => netOf(bySlot.get(key) ?? [])) }
  })
  const total = netOf(rows)
  const label = `Spend of all workspaces, stacked by ${part}: ${money(total)} USD in total. The same is in the table below.`
  return [
    h('p', { class: 'muted' }, usd(total), ' USD in total'),
    barChart(slots, series, {
      ...{ label, signal },
      open: (slot) => {
        location.hash = `#/requests?${new URLSearchParams(daysOf(interval, slots[slot]?.key ?? ''))}`
      },
    }),
    h(
      'ul',
      { class: 'legend' },
      ...series.map(({ name }, place) => {
        const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' })
        swatch.style.background = `var(${seriesColour(place)})`
        return h('li', {}, swatch, name)
      }),
    ),
    table(
      `Spend by ${part}`,
      /** @type {import('../parts.js').Column<(typeof sums)[number]>[]} */ ([
        {
          name: parts.find(([value]) => value === part)?.[1] ?? part,
          className: 'name',
          cell: ({ name }) =>
            part === 'workspace' ? workspaceLink(name, 'spend', names) : h('span', { title: name }, name),
        },
        { name: 'Requests', numeric: true, cell: ({ requests }) => count(requests) },
        { name: 'USD', cell: () => null, amount: ({ net }) => net },
      ]),
      sums,
    ),
  ]
}
