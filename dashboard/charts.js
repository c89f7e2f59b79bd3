// @ts-check
import { h } from './dom.js'
import { dayMs, dayText, lengthOf, money, shortDay, utcDayAt } from './format.js'
import uPlot from './vendor/uplot.js'

const heightPixels = 220
const daySeconds = dayMs / 1_000

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** @param {string} day */
const secondsOf = (day) => Date.parse(`${day}T00:00:00Z`) / 1_000

/** @param {number} seconds */
const dayAt = (seconds) => utcDayAt(seconds * 1_000)

/** Every day from the first to the last, both included.
 *
 * @param {string} first
 * @param {string} last
 */
export const daysBetween = (first, last) => {
  const days = []
  for (let at = secondsOf(first); at <= secondsOf(last); at += daySeconds) days.push(dayAt(at))
  return days
}

const axisFont = '12px system-ui, sans-serif'
const labelGapPixels = 12

/** The width of the widest text of an axis.
 *
 * @param {readonly string[]} texts
 */
const widestPixels = (texts) => {
  const context = h('canvas').getContext('2d')
  if (context === null) return 0
  context.font = axisFont
  return Math.ceil(Math.max(0, ...texts.map((text) => context.measureText(text).width)))
}

/** What canvas draws, in the colours of the theme.
 *
 * @param {number} width
 * @param {readonly string[]} days
 * @returns {uPlot.Options}
 */
const optionsOf = (width, days) => {
  const labelOf = (/** @type {string} */ day) => shortDay(day, Date.now())
  const dayPixels = widestPixels(days.map(labelOf))
  const axis = {
    stroke: () => colour('--muted-drawn'),
    grid: { stroke: () => colour('--rule-drawn'), width: 1 },
    ticks: { show: false },
    font: axisFont,
  }
  return {
    width,
    height: heightPixels,
    padding: [null, dayPixels / 2, null, null],
    cursor: { y: false, drag: { x: false, y: false } },
    legend: { show: false },
    scales: {
      x: { time: false, range: (_chart, min, max) => [min - daySeconds / 2, max + daySeconds / 2] },
      y: { range: (_chart, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: dayPixels + labelGapPixels,
        size: 32,
        gap: 8,
        values: (_chart, splits) => splits.map((at) => labelOf(dayAt(at))),
        incrs: [1, 2, 7, 14, 28, 56, 91, 182, 364].map((step) => step * daySeconds),
      },
      {
        ...axis,
        size: (_chart, values) => Math.max(dayPixels / 2, labelGapPixels + widestPixels(values ?? [])),
        values: (_chart, splits) => splits.map((at) => String(Number(at.toPrecision(6)))),
      },
    ],
    series: [
      {},
      {
        label: 'USD',
        stroke: () => colour('--accent-drawn'),
        fill: () => colour('--accent-drawn'),
        ...(uPlot.paths.bars === undefined ? {} : { paths: uPlot.paths.bars({ size: [0.7, 28], radius: 0.15 }) }),
        points: { show: false },
      },
    ],
  }
}

/**
 * Spend by day as bars. What it shows is told in words and in the table beside it; the drawing alone is rounded.
 *
 * @param {readonly { day: string, total: string }[]} spent every day, oldest first
 * @param {{ label: string, signal: AbortSignal }} options
 */
export const dayChart = (spent, { label, signal }) => {
  const readout = h('p', { class: 'readout muted small', 'aria-hidden': 'true' }, ' ')
  const holder = h('div', { class: 'chart', role: 'img', 'aria-label': label })
  /** @type {uPlot.AlignedData} */
  const data = [
    spent.map(({ day }) => secondsOf(day)),
    spent.map(({ total }) => (lengthOf(total) === 0 ? null : lengthOf(total))),
  ]
  /** @param {uPlot} chart */
  const tell = (chart) => {
    const at = chart.cursor.idx
    const day = at === null || at === undefined ? undefined : spent[at]
    readout.textContent =
      day === undefined ? '\u00a0' : `${dayText(day.day, Date.now())} (UTC): ${money(day.total)} USD`
  }
  const days = spent.map(({ day }) => day)
  /** @type {uPlot | null} */
  let chart = null
  const drawn = new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth)
    if (width === 0) return
    if (chart === null) chart = new uPlot({ ...optionsOf(width, days), hooks: { setCursor: [tell] } }, data, holder)
    else chart.setSize({ width, height: heightPixels })
  })
  drawn.observe(holder)
  const repaint = () => chart?.redraw()
  document.addEventListener('themechange', repaint)
  signal.addEventListener('abort', () => {
    drawn.disconnect()
    document.removeEventListener('themechange', repaint)
    chart?.destroy()
  })
  return h('figure', {}, holder, readout)
}

/**
 * A length beside a figure, for the eye alone.
 *
 * @param {string} amount
 * @param {string} most
 */
export const share = (amount, most) => {
  const fill = h('span', { class: 'fill' })
  fill.style.width = `${lengthOf(most) > 0 ? Math.max(0, (lengthOf(amount) / lengthOf(most)) * 100) : 0}%`
  return h('span', { class: 'share', 'aria-hidden': 'true' }, fill)
}
