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

/** Every day from the first to the last, both included.
 *
 * @param {string} first
 * @param {string} last
 */
export const daysBetween = (first, last) => {
  const days = []
  for (let at = secondsOf(first); at <= secondsOf(last); at += daySeconds) days.push(utcDayAt(at * 1_000))
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

/**
 * One bar for each slot of time, oldest first: `label` is below it, `title` names it in the line below the chart.
 *
 * @typedef {{ label: string, title: string }} Slot
 */

/** Parts of the bars, the lowest first: an amount for each slot. @typedef {{ name: string, amounts: readonly string[] }} Series */

/** As many as the style sheet has colours for. */
export const seriesMax = 6

/** @param {number} place */
export const seriesColour = (place) => `--series-${place + 1}`

/** What canvas draws, in the colours of the theme.
 *
 * @param {number} width
 * @param {readonly Slot[]} slots
 * @param {readonly Series[]} series
 * @returns {uPlot.Options}
 */
const optionsOf = (width, slots, series) => {
  const labelPixels = widestPixels(slots.map(({ label }) => label))
  const axis = {
    stroke: () => colour('--muted-drawn'),
    grid: { stroke: () => colour('--rule-drawn'), width: 1 },
    ticks: { show: false },
    font: axisFont,
  }
  const bars = uPlot.paths.bars?.({ size: [0.7, 28], radius: series.length === 1 ? 0.15 : 0 })
  return {
    width,
    height: heightPixels,
    padding: [null, labelPixels / 2, null, null],
    cursor: { y: false, drag: { x: false, y: false } },
    legend: { show: false },
    scales: {
      x: { time: false, range: (_chart, min, max) => [min - 0.5, max + 0.5] },
      y: { range: (_chart, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: labelPixels + labelGapPixels,
        size: 32,
        gap: 8,
        values: (_chart, splits) => splits.map((at) => slots[at]?.label ?? ''),
        incrs: [1, 2, 3, 4, 6, 7, 12, 14, 24, 28, 56, 91, 182, 364],
      },
      {
        ...axis,
        size: (_chart, values) => Math.max(labelPixels / 2, labelGapPixels + widestPixels(values ?? [])),
        values: (_chart, splits) => splits.map((at) => String(Number(at.toPrecision(6)))),
      },
    ],
    series: [
      {},
      ...series
        .map(({ name }, place) => ({
          label: name,
          stroke: () => colour(seriesColour(place)),
          fill: () => colour(seriesColour(place)),
          ...(bars === undefined ? {} : { paths: bars }),
          points: { show: false },
        }))
        .toReversed(),
    ],
  }
}

/** The least of a bar that is seen, as a share of the highest. */
const seenShare = 0.012

/** The tops of the parts, the highest first: each is drawn over the one before. @param {number} slots @param {readonly Series[]} series */
const topsOf = (slots, series) => {
  const tops = Array.from({ length: slots }, () => 0)
  const exact = series.map(({ amounts }) =>
    amounts.map((amount, slot) => {
      const length = lengthOf(amount)
      if (length <= 0) return null
      const top = (tops[slot] ?? 0) + length
      tops[slot] = top
      return top
    }),
  )
  const least = Math.max(...tops, 0) * seenShare
  return exact.map((each) => each.map((top) => (top === null ? null : Math.max(top, least)))).toReversed()
}

/**
 * Amounts as stacked bars. What it shows is in words and in the table beside it; the drawing alone is rounded.
 *
 * @param {readonly Slot[]} slots
 * @param {readonly Series[]} series
 * @param {{ label: string, signal: AbortSignal, open?: (slot: number) => void }} options `open`: what a click on a slot does
 */
export const barChart = (slots, series, { label, signal, open }) => {
  const readout = h('p', { class: 'readout muted small', 'aria-hidden': 'true' }, '\u00a0')
  const holder = h('div', { class: 'chart', role: 'img', 'aria-label': label })
  /** @type {uPlot.AlignedData} */
  const data = [slots.map((_slot, place) => place), ...topsOf(slots.length, series)]
  /** @param {uPlot} chart */
  const showSlot = ({ cursor: { idx: at } }) => {
    const slot = at === null || at === undefined ? undefined : slots[at]
    const amounts = series
      .map(({ name, amounts }) => ({ name, amount: amounts[at ?? 0] ?? '0' }))
      .filter(({ amount }) => series.length === 1 || amount !== '0')
      .map(({ name, amount }) => (series.length === 1 ? `${money(amount)} USD` : `${name} ${money(amount)}`))
    readout.textContent = slot === undefined ? '\u00a0' : `${slot.title}: ${amounts.join(' · ')}`
  }
  /** @type {uPlot | null} */
  let chart = null
  const drawn = new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth)
    if (width === 0) return
    if (chart === null)
      chart = new uPlot({ ...optionsOf(width, slots, series), hooks: { setCursor: [showSlot] } }, data, holder)
    else chart.setSize({ width, height: heightPixels })
  })
  drawn.observe(holder)
  if (open !== undefined) {
    holder.classList.add('leading')
    holder.addEventListener('click', () => {
      const at = chart?.cursor.idx
      if (at !== null && at !== undefined) open(at)
    })
  }
  const repaint = () => chart?.redraw()
  document.addEventListener('themechange', repaint)
  signal.addEventListener('abort', () => {
    drawn.disconnect()
    document.removeEventListener('themechange', repaint)
    chart?.destroy()
  })
  return h('figure', {}, holder, readout)
}

/** @param {string} day */
export const daySlot = (day) => ({ label: shortDay(day, Date.now()), title: `${dayText(day, Date.now())} (UTC)` })

/**
 * Spend by day as bars.
 *
 * @param {readonly { day: string, total: string }[]} spent every day, oldest first
 * @param {{ label: string, signal: AbortSignal, hrefOf: (day: string) => string }} options `hrefOf`: where the bar of a day leads
 */
export const dayChart = (spent, { hrefOf, ...options }) =>
  barChart(
    spent.map(({ day }) => daySlot(day)),
    [{ name: 'USD', amounts: spent.map(({ total }) => total) }],
    {
      ...options,
      open: (slot) => {
        const day = spent[slot]?.day
        if (day !== undefined) location.hash = hrefOf(day)
      },
    },
  )

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
