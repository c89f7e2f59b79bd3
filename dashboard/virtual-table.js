// @ts-check
import { h, pause, replace } from './dom.js'
import { count } from './format.js'
import { cellOf, decimalsIn, errorPanel, headerOf, isNarrow, time } from './parts.js'

const rowPixels = 36
/** Of a cell with two lines, and of a row of cards; as the style sheet has them. */
const linePixels = 20
const paddingPixels = 16
const rowsBeyond = 12
/** The next page is asked for when so many rows are left below. */
const rowsAhead = 400
const liveMs = 3_000
/** As many as a page has: no more are new at once. */
const liveRows = 500
/** What filters do not find is not looked for in the whole history at once. */
const emptyPagesMax = 3

/**
 * @template Row
 * @typedef {{
 *   label: string,
 *   columns: readonly import('./parts.js').Column<Row>[],
 *   read: (cursor: string | undefined) => Promise<import('./types.d.ts').Page<Row>>,
 *   signal: AbortSignal,
 *   empty: string,
 *   live?: { idOf: (row: Row) => string, isOn: () => boolean },
 *   lines?: 1 | 2,
 * }} Options `live`: new rows appear at the top while it is on and the top is in sight; `lines` of text in each cell, 1 by default
 */

/** In place of the rows above or below those in the document.
 *
 * @param {HTMLTableCellElement} cell
 */
const space = (cell) => h('tbody', { 'aria-hidden': 'true' }, h('tr', { class: 'space' }, cell))

/** @template Row @param {import('./parts.js').Column<Row>} column @param {readonly import('./parts.js').Column<Row>[]} columns */
const narrowClassOf = ({ narrow }, columns) => {
  if (narrow === undefined) return 'not-narrow'
  if (narrow % 2 === 0) return 'end'
  return columns.some((other) => other.narrow === narrow + 1) ? null : 'whole'
}

/** @template Row */
class VirtualTable {
  /** @type {Options<Row>} */
  #options
  /** @type {Row[]} */
  #rows = []
  /** @type {string | null | undefined} */
  #cursor
  #isReading = false
  #isDue = false
  /** One after the other, since rows were found or more were asked for. */
  #emptyPages = 0
  /** @type {readonly number[]} */
  #decimals
  /** The rows in the document: what stays in sight stays an element, and so keeps the focus. @type {Map<Row, HTMLTableRowElement>} */
  #drawn = new Map()
  #rowPixels = rowPixels
  /** Of a card, where the page is narrow: two columns of it share a row. */
  #cardRows
  /** Of each column's cells, where the page is narrow. */
  #narrowClasses
  #above
  #below
  #body = h('tbody', { role: 'rowgroup' })
  #grid
  #scroller
  #status = h('p', { class: 'muted small' })
  #none
  #searched = h('span', { role: 'status' })
  #further
  element

  /** @param {Options<Row>} options */
  constructor(options) {
    const { label, columns, signal, lines = 1 } = options
    this.#options = options
    this.#cardRows = Math.ceil(Math.max(0, ...columns.map(({ narrow = 0 }) => narrow)) / 2)
    this.#narrowClasses = columns.map((column) => narrowClassOf(column, columns))
    this.#decimals = columns.map(() => 0)
    this.#above = h('td', { colspan: columns.length })
    this.#below = h('td', { colspan: columns.length })
    this.#grid = h(
      'table',
      { role: 'table' },
      h('caption', { class: 'unseen' }, label),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row', 'aria-rowindex': 1 }, ...columns.map(headerOf))),
      space(this.#above),
      this.#body,
      space(this.#below),
    )
    this.#scroller = h(
      'div',
      { class: lines === 2 ? 'virtual tall' : 'virtual', role: 'region', 'aria-label': label, tabindex: '0' },
      this.#grid,
    )
    const search = () => this.#searchFurther()
    this.#further = h('button', { type: 'button', hidden: true, click: search }, 'Search further back')
    const further = h('p', { class: 'buttons start' }, this.#searched, this.#further)
    this.#none = h('p', { class: 'empty', hidden: true }, options.empty)
    this.element = h('div', {}, this.#scroller, this.#status, further, this.#none)
    this.#scroller.addEventListener('scroll', () => this.#drawSoon(), { passive: true })
    const resized = new ResizeObserver(() => this.#drawSoon())
    resized.observe(this.#scroller)
    signal.addEventListener('abort', () => resized.disconnect())
  }

  async begin() {
    this.#scroller.setAttribute('aria-busy', 'true')
    await this.#readOn()
    this.#scroller.removeAttribute('aria-busy')
    if (this.#options.live !== undefined) void this.#follow(this.#options.live)
    else if (this.#cursor === null && this.#rows.length === 0) replace(this.element, this.#none)
  }

  /** Draws the rows again, with what their cells have now. */
  redraw() {
    this.#drawn.clear()
    this.#drawSoon()
  }

  /** @param {NonNullable<Options<Row>['live']>} live */
  async #follow({ idOf, isOn }) {
    const { read, signal } = this.#options
    while (!signal.aborted) {
      await pause(liveMs, signal)
      if (!isOn() || this.#isReading || this.#scroller.scrollTop > 0 || document.hidden) continue
      // The next refresh is soon; a read for other filters shows itself what is wrong.
      const page = await read(undefined).catch(() => null)
      if (page === null || signal.aborted) continue
      const [first] = this.#rows
      const place = first === undefined ? -1 : page.data.findIndex((row) => idOf(row) === idOf(first))
      if (place === 0 || page.data.length === 0) continue
      this.#rows = place < 0 ? [] : page.data.slice(0, place).concat(this.#rows)
      this.#take(place < 0 ? page : { data: [], next_cursor: this.#cursor ?? null })
    }
  }

  /** @param {Row} row */
  #elementOf(row) {
    const cells = this.#options.columns.map((column, index) => {
      const cell = cellOf(column, row, this.#decimals[index] ?? 0)
      // What is shown as a card is none of a table to assistive technology by itself.
      cell.setAttribute('role', 'cell')
      const narrowClass = this.#narrowClasses[index] ?? null
      if (narrowClass !== null) cell.classList.add(narrowClass)
      if (column.narrow !== undefined) cell.style.order = String(column.narrow)
      return cell
    })
    return h('tr', { role: 'row' }, ...cells)
  }

  /** @param {number} first @param {number} last no longer in it */
  #place(first, last) {
    const drawn = new Map(
      this.#rows.slice(first, last).map((row) => [row, this.#drawn.get(row) ?? this.#elementOf(row)]),
    )
    const wanted = [...drawn.values()]
    const kept = new Set(wanted)
    for (const element of [...this.#body.rows]) if (!kept.has(element)) element.remove()
    for (const [offset, element] of wanted.entries()) {
      element.setAttribute('aria-rowindex', String(first + offset + 2))
      // One that is there is not moved, which would take the focus from it.
      const present = this.#body.rows[offset] ?? null
      if (present !== element) this.#body.insertBefore(element, present)
    }
    this.#drawn = drawn
  }

  #measure() {
    const { lines = 1 } = this.#options
    const inCell = lines === 1 ? rowPixels : lines * linePixels + paddingPixels
    const pixels = isNarrow() ? this.#cardRows * lines * linePixels + paddingPixels : inCell
    if (pixels === this.#rowPixels) return pixels
    this.#rowPixels = pixels
    this.#drawn.clear()
    this.#scroller.style.setProperty('--row', `${pixels}px`)
    return pixels
  }

  #draw() {
    const rowPixels = this.#measure()
    const { scrollTop, clientHeight } = this.#scroller
    const first = Math.max(0, Math.floor(scrollTop / rowPixels) - rowsBeyond)
    const last = Math.min(this.#rows.length, Math.ceil((scrollTop + clientHeight) / rowPixels) + rowsBeyond)
    if (last > this.#rows.length - rowsAhead) void this.#readOn()
    this.#above.style.height = `${first * rowPixels}px`
    this.#below.style.height = `${(this.#rows.length - last) * rowPixels}px`
    this.#place(first, last)
  }

  #drawSoon() {
    if (this.#isDue) return
    this.#isDue = true
    requestAnimationFrame(() => {
      this.#isDue = false
      this.#draw()
    })
  }

  /** @param {import('./types.d.ts').Page<Row>} page */
  #take({ data, next_cursor }) {
    this.#rows.push(...data)
    this.#cursor = next_cursor
    const decimals = decimalsIn(
      this.#options.columns,
      data.length === 0 ? this.#rows.slice(0, liveRows) : data,
      this.#decimals,
    )
    if (decimals.some((number, place) => number !== this.#decimals[place])) this.#drawn.clear()
    this.#decimals = decimals
    this.#showCount()
    this.#drawSoon()
  }

  get #isPaused() {
    return this.#emptyPages >= emptyPagesMax
  }

  /** What has the focus stays until there is something else. @param {import('./types.d.ts').Page<Row>} page */
  #showSearched({ data, next_cursor: next, searched_to: at = null }) {
    this.#emptyPages = data.length === 0 && next !== null ? this.#emptyPages + 1 : 0
    const isSearching = this.#emptyPages > 0 && !this.#isPaused
    if (isSearching) return
    if (!this.#isPaused && document.activeElement === this.#further) this.#scroller.focus()
    this.#further.hidden = !this.#isPaused
    if (!this.#isPaused) this.#searched.textContent = ''
    else replace(this.#searched, 'Nothing more was found', ...(at === null ? [] : [' back to ', time(at)]), '.')
  }

  #searchFurther() {
    this.#emptyPages = 0
    this.#searched.textContent = 'Searching…'
    void this.#readOn()
  }

  #showCount() {
    const { length } = this.#rows
    const isWhole = this.#cursor === null
    this.#none.hidden = !isWhole || length > 0
    this.#status.textContent = `${count(length)} ${length === 1 ? 'row' : 'rows'}${isWhole || this.#isPaused ? '' : ', more as you scroll'}`
    this.#grid.setAttribute('aria-rowcount', isWhole ? String(length + 1) : '-1')
  }

  async #readOn() {
    const { read, signal } = this.#options
    if (this.#isReading || this.#isPaused || this.#cursor === null || signal.aborted) return
    this.#isReading = true
    try {
      const page = await read(this.#cursor)
      if (!signal.aborted) {
        this.#showSearched(page)
        this.#take(page)
      }
      this.#isReading = false
    } catch (fault) {
      // Not again before it is asked for.
      if (!signal.aborted)
        replace(
          this.#status,
          errorPanel(fault, () => this.#readAgain()),
        )
    }
  }

  #readAgain() {
    this.#isReading = false
    void this.#readOn()
  }
}

/**
 * A table that reads its rows page by page as they come into sight, and holds only those in sight in the document.
 *
 * @template Row
 * @param {Options<Row>} options
 * @returns {{ element: HTMLElement, ready: Promise<void>, redraw: () => void }} `ready` resolves with the first rows, or the reason why there are none
 */
export const virtualTable = (options) => {
  const table = new VirtualTable(options)
  return { element: table.element, ready: table.begin(), redraw: () => table.redraw() }
}
