// @ts-check
import { csvLine } from '../csv.js'
import { h, replace } from '../dom.js'
import { rangeOf, words } from '../format.js'
import { errorPanel, facts, field, heading, idLink, isNarrow, select, time, usd } from '../parts.js'
import { virtualTable } from '../virtual-table.js'

/** @typedef {import('../types.d.ts').Movement} Movement */
/** @typedef {import('../types.d.ts').Statement} Statement */

const kinds = ['credit', 'charge', 'excess', 'fee', 'adjustment', 'lapse', 'hold', 'release']
const charged = new Set(['charge', 'excess'])
/** @param {Movement} movement */
const isExplained = ({ kind, reference }) => charged.has(kind) || reference.startsWith('task_')
const pageRows = 500

const exported = /** @type {const} */ ([
  'at',
  'sequence',
  'event_index',
  'line',
  'kind',
  'reference',
  'amount',
  'held',
  'balance_after',
  'held_after',
])

/** @param {BlobPart[]} parts @param {string} type @param {string} name */
export const download = (parts, type, name) => {
  const url = URL.createObjectURL(new Blob(parts, { type }))
  h('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** @param {(view: string, parameter?: string) => string} hrefTo @returns {import('../parts.js').Column<Movement>[]} */
const columnsOf = (hrefTo) => {
  const [at, kind, reference, ...amounts] = everyColumn(hrefTo)
  // Where not all are seen at once, the amounts come first.
  return /** @type {import('../parts.js').Column<Movement>[]} */ (
    isNarrow() ? [at, kind, ...amounts, reference] : [at, kind, reference, ...amounts]
  )
}

/** @param {(view: string, parameter?: string) => string} hrefTo @returns {import('../parts.js').Column<Movement>[]} */
const everyColumn = (hrefTo) => [
  { name: 'Time', className: 'wide-time', cell: ({ at }) => time(at) },
  { name: 'Kind', className: 'kind', cell: ({ kind }) => words(kind) },
  {
    name: 'For',
    className: 'reference',
    cell: (movement) =>
      isExplained(movement)
        ? idLink(movement.reference, hrefTo('charges', movement.reference))
        : h('span', { title: movement.reference }, movement.reference),
  },
  { name: 'Amount, USD', className: 'amount', cell: () => null, amount: ({ amount }) => amount },
  { name: 'Held, USD', className: 'amount', cell: () => null, amount: ({ held }) => held },
  { name: 'Balance, USD', className: 'amount', cell: () => null, amount: ({ balance_after }) => balance_after },
]

/** @type {import('../views.d.ts').View} */
export const statement = {
  name: 'statement',
  title: 'Statement',
  show: ({ session, scope, root, signal, hrefTo }) => {
    const from = h('input', { type: 'date' })
    const to = h('input', { type: 'date' })
    const kind = select([['', 'Every kind'], ...kinds.map((each) => /** @type {const} */ ([each, words(each)]))])
    const order = select(
      [
        ['newest', 'Newest first'],
        ['oldest', 'Oldest first'],
      ],
      'newest',
    )
    const sums = h('div')
    const rows = h('div')
    const told = h('p', { role: 'status', class: 'muted small' })
    const button = h('button', { type: 'button' }, 'Export CSV')

    const filters = () => ({ ...rangeOf(from.value, to.value), kind: kind.value, order: order.value })
    /** @param {Record<string, string>} query @param {string | undefined} cursor @returns {Promise<Statement>} */
    const read = (query, cursor) => session.ledger(scope, '/statement', { ...query, cursor, limit: pageRows }, signal)

    /** @param {Statement} page */
    const showSums = ({ opening, closing }) =>
      replace(
        sums,
        facts([
          ['Opening balance', usd(opening.balance)],
          ['Closing balance', usd(closing.balance)],
          ['Held at the end', usd(closing.held)],
        ]),
      )

    const show = () => {
      const query = filters()
      const { element } = virtualTable({
        label: 'Movements of the wallet',
        columns: columnsOf(hrefTo),
        read: async (cursor) => {
          const page = await read(query, cursor)
          if (cursor === undefined) showSums(page)
          return page
        },
        signal,
        empty: 'No movement in these days. Credits, charges and holds appear here a moment after they are written.',
      })
      replace(rows, element)
    }

    const exportAll = async () => {
      button.disabled = true
      const query = filters()
      const parts = [csvLine(exported)]
      /** @type {string | undefined} */
      let cursor
      let lines = 0
      try {
        do {
          const page = await read(query, cursor)
          parts.push(page.data.map((row) => csvLine(exported.map((name) => row[name]))).join(''))
          lines += page.data.length
          told.textContent = `${lines} rows read…`
          cursor = page.next_cursor ?? undefined
        } while (cursor !== undefined && !signal.aborted)
        if (!signal.aborted)
          download(parts, 'text/csv', `statement-${scope ?? session.workspace?.id ?? 'workspace'}.csv`)
        told.textContent = `${lines} rows exported, every digit as it is in the ledger.`
      } catch (fault) {
        replace(
          told,
          errorPanel(fault, () => void exportAll()),
        )
      }
      button.disabled = false
    }

    button.addEventListener('click', () => void exportAll())
    root.append(
      heading('Statement', button),
      h(
        'form',
        { class: 'filters', submit: (/** @type {Event} */ event) => event.preventDefault() },
        field('From', from),
        field('To, included', to),
        field('Kind', kind),
        field('Order', order),
      ),
      told,
      sums,
      rows,
    )
    for (const control of [from, to, kind, order]) control.addEventListener('change', show)
    show()
  },
}
