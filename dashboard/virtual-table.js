// @ts-check
import { h, replace } from './dom.js'
import { count } from './format.js'
import { cellOf, decimalsIn, errorPanel, headerOf } from './parts.js'

const rowPixels = 36
const rowsBeyond = 12
/** The next page is asked for when so many rows are left below. */
const rowsAhead = 400

/**
 * A table that reads its rows page by page as they come into sight, and holds only those in sight in the document.
 *
 * @template Row
 * @param {{
 *   label: string,
 *   columns: readonly import('./parts.js').Column<Row>[],
 *   read: (cursor: string | undefined) => Promise<import('./types.d.ts').Page<Row>>,
 *   signal: AbortSignal,
 *   empty: string,
 * }} options
 * @returns {{ element: HTMLElement, ready: Promise<void> }} `ready` resolves with the first rows, or the reason why there are none
 */
export const virtualTable = ({ label, columns, read, signal, empty }) => {
  /** @type {Row[]} */
  const rows = []
  /** @type {string | null | undefined} */
  let cursor
  let isReading = false
  let decimals = columns.map(() => 0)
  /** The rows in the document. */
  let shown = { first: -1, last: -1 }

  const above = h('td', { colspan: columns.length })
  const below = h('td', { colspan: columns.length })
  const body = h('tbody')
  const grid = h(
    'table',
    {},
    h('caption', { class: 'unseen' }, label),
    h('thead', {}, h('tr', { 'aria-rowindex': 1 }, ...columns.map(headerOf))),
    h('tbody', { 'aria-hidden': 'true' }, h('tr', { class: 'space' }, above)),
    body,
    h('tbody', { 'aria-hidden': 'true' }, h('tr', { class: 'space' }, below)),
  )
  const scroller = h('div', { class: 'virtual', role: 'region', 'aria-label': label, tabindex: '0' }, grid)
  const status = h('p', { class: 'muted small' })
  const element = h('div', {}, scroller, status)

  /** @param {number} place */
  const rowAt = (place) => {
    const row = /** @type {Row} */ (rows[place])
    return h(
      'tr',
      { 'aria-rowindex': place + 2 },
      ...columns.map((column, index) => cellOf(column, row, decimals[index] ?? 0)),
    )
  }

  const draw = () => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / rowPixels) - rowsBeyond)
    const last = Math.min(rows.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / rowPixels) + rowsBeyond)
    if (last > rows.length - rowsAhead) void readOn()
    if (first === shown.first && last === shown.last) return
    shown = { first, last }
    above.style.height = `${first * rowPixels}px`
    below.style.height = `${(rows.length - last) * rowPixels}px`
    body.replaceChildren(...Array.from({ length: last - first }, (_, place) => rowAt(first + place)))
  }

  let isDue = false
  const drawSoon = () => {
    if (isDue) return
    isDue = true
    requestAnimationFrame(() => {
      isDue = false
      draw()
    })
  }

  const tell = () => {
    const more = cursor === null ? '' : ', more as you scroll'
    status.textContent = `${count(rows.length)} ${rows.length === 1 ? 'row' : 'rows'}${more}`
    grid.setAttribute('aria-rowcount', cursor === null ? String(rows.length + 1) : '-1')
  }

  /** @param {import('./types.d.ts').Page<Row>} page */
  const take = (page) => {
    rows.push(...page.data)
    cursor = page.next_cursor
    decimals = decimalsIn(columns, page.data, decimals)
    shown = { first: -1, last: -1 }
    tell()
    drawSoon()
  }

  const readOn = async () => {
    if (isReading || cursor === null || signal.aborted) return
    isReading = true
    try {
      const page = await read(cursor)
      if (!signal.aborted) take(page)
    } catch (fault) {
      if (signal.aborted) return
      replace(
        status,
        errorPanel(fault, () => {
          isReading = false
          void readOn()
        }),
      )
      return // Not again before somebody asks for it.
    }
    isReading = false
  }

  const begin = async () => {
    await readOn()
    if (cursor === null && rows.length === 0) replace(element, h('p', { class: 'empty' }, empty))
  }

  scroller.addEventListener('scroll', drawSoon, { passive: true })
  const resized = new ResizeObserver(drawSoon)
  resized.observe(scroller)
  signal.addEventListener('abort', () => resized.disconnect())
  return { element, ready: begin() }
}
