// @ts-check
import { append, h, replace } from './dom.js'
import {
  alignedMoney,
  decimalsOf,
  localClock,
  localDay,
  localTime,
  money,
  shortId,
  shortTime,
  utcTime,
  words,
} from './format.js'
import { ApiError } from './session.js'

/** @typedef {import('./dom.js').Child} Child */

/** As the style sheet has it. */
export const isNarrow = () => matchMedia('(max-width: 768px)').matches

/** An instant in the viewer's zone, with UTC on hover and for programs.
 *
 * @param {string | null} iso
 */
export const time = (iso) =>
  iso === null
    ? h('span', { class: 'muted' }, '–')
    : h('time', { datetime: iso, title: utcTime(iso) }, isNarrow() ? shortTime(iso, Date.now()) : localTime(iso))

/** The day of an instant in the viewer's zone, with UTC on hover.
 *
 * @param {string} iso
 */
export const day = (iso) => h('time', { datetime: iso, title: utcTime(iso) }, localDay(iso))

/** The hour of an instant in the viewer's zone, with UTC on hover.
 *
 * @param {string} iso
 */
export const clock = (iso) => h('time', { datetime: iso, title: utcTime(iso) }, localClock(iso))

/** @param {string} amount */
export const usd = (amount) => h('span', { class: 'figure' }, money(amount))

/**
 * @param {string} word
 * @param {'plain' | 'good' | 'bad' | 'busy'} [tone] shown by the word too
 */
export const state = (word, tone = 'plain') => h('span', { class: `state ${tone}` }, words(word))

/**
 * @param {string} title
 * @param {...Child} beside
 */
export const heading = (title, ...beside) =>
  h('div', { class: 'heading' }, h('h1', { tabindex: '-1' }, title), ...beside)

/** @param {readonly (readonly [name: string, ...value: Child[]])[]} pairs */
export const facts = (pairs) =>
  h(
    'dl',
    { class: 'facts' },
    ...pairs.map(([name, ...value]) => h('div', {}, h('dt', {}, name), h('dd', {}, ...value))),
  )

/** A cell of a table whose rows have two lines. @param {Child} first @param {Child} second @param {string} [title] */
export const twoLines = (first, second, title) =>
  h('div', { title }, h('div', {}, first), h('div', { class: 'muted' }, second))

/** @param {string} id @param {string} href */
export const idLink = (id, href) => h('a', { href, title: id, class: 'id' }, shortId(id))

/** What explains a request or a video, where all workspaces are shown. @param {string} workspace @param {string} id */
export const chargeHref = (workspace, id) => `#/w/${encodeURIComponent(workspace)}/charges/${encodeURIComponent(id)}`

/** A view of a workspace, by its name. @param {string} id @param {string} view @param {ReadonlyMap<string, string>} names of workspaces by their ids */
export const workspaceLink = (id, view, names) =>
  h('a', { href: `#/w/${encodeURIComponent(id)}/${view}`, title: id }, names.get(id) ?? id)

/**
 * @template Row
 * @typedef {{ name: string, numeric?: boolean, className?: string, cell: (row: Row) => Child, amount?: (row: Row) => string, narrow?: number }} Column `narrow`: its place in the card that a row of a virtual table is on a phone, left if odd, right if even; absent, it is not in it
 */

/**
 * The cell of a row; of amounts with as many decimals as its column has.
 *
 * @template Row
 * @param {Column<Row>} column
 * @param {Row} row
 * @param {number} decimals
 */
export const cellOf = ({ numeric, className = '', cell, amount }, row, decimals) =>
  h(
    'td',
    { class: `${numeric || amount ? 'number' : ''} ${className}`.trim() || null },
    amount === undefined ? cell(row) : alignedMoney(amount(row), decimals),
  )

/**
 * @template Row
 * @param {Column<Row>} column
 */
export const headerOf = ({ name, numeric, className = '', amount }) =>
  h('th', { scope: 'col', class: `${numeric || amount ? 'number' : ''} ${className}`.trim() || null }, name)

/**
 * How many decimals each column of amounts needs.
 *
 * @template Row
 * @param {readonly Column<Row>[]} columns
 * @param {readonly Row[]} rows
 * @param {readonly number[]} [least]
 */
export const decimalsIn = (columns, rows, least = []) =>
  columns.map(({ amount }, place) =>
    amount === undefined ? 0 : rows.reduce((most, row) => Math.max(most, decimalsOf(amount(row))), least[place] ?? 0),
  )

/** As many are beside each other on a phone. */
const narrowColumnsMax = 4

/**
 * A small table, whole. Where the page is narrow, the rows of one that is too wide for it are cards.
 *
 * @template Row
 * @param {string} label
 * @param {readonly Column<Row>[]} columns
 * @param {readonly Row[]} rows
 * @param {string} [empty]
 * @param {{ isCards?: boolean }} [options]
 */
export const table = (
  label,
  columns,
  rows,
  empty = 'Nothing here.',
  { isCards = columns.length > narrowColumnsMax } = {},
) => {
  if (rows.length === 0) return h('p', { class: 'empty' }, empty)
  const decimals = decimalsIn(columns, rows)
  /** A table that is shown as cards is none to assistive technology by itself. @param {string} role */
  const role = (role) => ({ role: isCards ? role : null })
  /** @param {Row} row */
  const cells = (row) =>
    columns.map((column, place) => {
      const cell = cellOf(column, row, decimals[place] ?? 0)
      if (isCards) {
        cell.setAttribute('role', 'cell')
        cell.dataset['label'] = column.name
      }
      return cell
    })
  return h(
    'div',
    { class: `table-scroll${isCards ? ' cards' : ''}`, role: 'region', 'aria-label': label, tabindex: '0' },
    h(
      'table',
      role('table'),
      h('caption', { class: 'unseen' }, label),
      h('thead', role('rowgroup'), h('tr', role('row'), ...columns.map(headerOf))),
      h('tbody', role('rowgroup'), ...rows.map((row) => h('tr', role('row'), ...cells(row)))),
    ),
  )
}

const advice = /** @type {Readonly<Record<number, string>>} */ ({
  0: 'Check that it runs and that this computer has a connection to it. Nothing was lost: what is shown is read from the log.',
  403: 'It takes another key, or another role.',
  404: 'It may have been typed wrongly, or the tables have not followed the log that far yet.',
  429: 'Too many requests were made with this key.',
  503: 'Requests are still served and billed; the figures are available again shortly.',
})

const titles = /** @type {Readonly<Record<number, string>>} */ ({
  0: 'The gateway cannot be reached',
  400: 'Not accepted',
  402: 'Not covered',
  403: 'Not allowed',
  404: 'Nothing found',
  409: 'Not possible now',
  429: 'Too many requests',
  503: 'Not available right now',
})

const shownCharacters = 60

/** A long text in short, whole when it is opened. @param {string} text */
export const expandable = (text) =>
  text.length <= shownCharacters
    ? text
    : h('details', { class: 'long' }, h('summary', {}, `${text.slice(0, shownCharacters)}…`), text)

/**
 * What went wrong, what it means, and a way on.
 *
 * @param {unknown} fault
 * @param {(() => void) | null} again
 */
export const errorPanel = (fault, again) => {
  const { status, message, retryAfterSeconds } =
    fault instanceof ApiError ? fault : new ApiError(500, 'The page failed to show this.')
  const wait = retryAfterSeconds === null ? '' : ` It can be tried again in ${retryAfterSeconds} s.`
  return h(
    'div',
    { class: 'notice bad', role: 'alert', 'data-status': status },
    h('h2', {}, titles[status] ?? 'Something went wrong'),
    h('p', {}, message + wait),
    advice[status] === undefined ? null : h('p', { class: 'muted' }, advice[status]),
    again === null ? null : h('button', { type: 'button', click: again }, 'Try again'),
  )
}

const skeletonAfterMs = 150
const retryMs = 5_000
/** No answer, or not now. */
const passing = [0, 503]

/** Lines where something will be, for what takes longer than a moment.
 *
 * @param {Element} root
 */
const showLoading = (root) => {
  replace(
    root,
    h(
      'div',
      { class: 'skeleton', role: 'status' },
      h('span', { class: 'unseen' }, 'Loading…'),
      ...Array.from({ length: 5 }, () => h('div', { class: 'bar', 'aria-hidden': 'true' })),
    ),
  )
}

/**
 * Reads, then shows; reports what went wrong and offers to try again.
 *
 * @template Answer
 * @param {HTMLElement} root
 * @param {AbortSignal} signal
 * @param {() => Promise<Answer>} read
 * @param {(answer: Answer, shown: AbortSignal) => readonly Child[]} show
 */
export const load = async (root, signal, read, show) => {
  root.setAttribute('aria-busy', 'true')
  const timer = setTimeout(() => showLoading(root), skeletonAfterMs)
  try {
    const answer = await read()
    if (!signal.aborted) replace(root, ...show(answer, signal))
  } catch (fault) {
    if (signal.aborted) return
    const again = () => void load(root, signal, read, show)
    const panel = errorPanel(fault, again)
    replace(root, panel)
    // As while the gateway starts again; a panel that is gone has made room for another try, or another view.
    if (fault instanceof ApiError && passing.includes(fault.status))
      setTimeout(() => !signal.aborted && panel.isConnected && again(), retryMs)
  } finally {
    clearTimeout(timer)
    root.removeAttribute('aria-busy')
  }
}

/** What was done, in the page's status region. @param {string} text */
export const acknowledge = (text) => {
  const region = document.getElementById('status')
  if (region !== null) region.textContent = text
}

let fields = 0

/**
 * A labelled control.
 *
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export const field = (label, control, hint) => {
  fields += 1
  const id = control.id || `field-${fields}`
  control.id = id
  if (hint !== undefined) control.setAttribute('aria-describedby', `${id}-hint`)
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    control,
    hint === undefined ? null : h('small', { id: `${id}-hint`, class: 'muted' }, hint),
  )
}

/**
 * @param {readonly (readonly [value: string, text: string])[]} options
 * @param {string} [chosen]
 */
export const select = (options, chosen = '') =>
  h('select', {}, ...options.map(([value, text]) => h('option', { value, selected: value === chosen }, text)))

/** @param {...Child} children */
export const section = (...children) => {
  const element = h('section', {})
  append(element, children)
  return element
}
