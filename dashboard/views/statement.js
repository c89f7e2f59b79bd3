// @ts-check
import { filterForm, h, readAddress, renewed, replace } from '../dom.js'
import { csvExport } from '../export.js'
import { rangeOf, words } from '../format.js'
import { facts, field, heading, idLink, select, time, usd } from '../parts.js'
import { virtualTable } from '../virtual-table.js'
import { dayField } from './spend.js'

/** @typedef {import('../types.d.ts').Movement} Movement */
/** @typedef {import('../types.d.ts').Statement} Statement */

const kinds = ['credit', 'charge', 'excess', 'fee', 'adjustment', 'lapse', 'hold', 'release']
const all = 'all'
const withHeld = new Set([all, 'hold', 'release'])
const charged = new Set(['charge', 'excess'])
/** @param {Movement} movement */
const isExplained = ({ kind, reference }) => charged.has(kind) || reference.startsWith('task_')
/** @param {Movement} movement */
const listOf = ({ reference }) => (reference.startsWith('task_') ? 'videos' : 'charges')
/** @param {Movement} movement */
const textOf = ({ reference, note }) => (note === '' ? reference : `${reference} · ${note}`)
const pageRows = 500

const exported = /** @type {const} */ ([
  'at',
  'line',
  'kind',
  'reference',
  'amount',
  'held',
  'balance_after',
  'held_after',
  'note',
  'upstream_request_id',
  'event_at',
])

/** @type {import('../parts.js').Column<Movement>} */
const heldColumn = { name: 'Held, USD', className: 'amount', cell: () => null, amount: ({ held }) => held }

/** @param {(view: string, parameter?: string) => string} hrefTo @param {boolean} showsHeld @returns {import('../parts.js').Column<Movement>[]} */
const columnsOf = (hrefTo, showsHeld) => [
  { name: 'Time', className: 'wide-time', narrow: 1, cell: ({ at }) => time(at) },
  { name: 'Kind', className: 'kind', narrow: 3, cell: ({ kind }) => words(kind) },
  {
    name: 'For',
    className: 'reference',
    narrow: 5,
    cell: (movement) =>
      isExplained(movement)
        ? idLink(movement.reference, hrefTo(listOf(movement), movement.reference))
        : h('span', { title: textOf(movement) }, textOf(movement)),
  },
  { name: 'Amount, USD', className: 'amount', narrow: 2, cell: () => null, amount: ({ amount }) => amount },
  ...(showsHeld ? [heldColumn] : []),
  {
    name: 'Balance, USD',
    className: 'amount',
    narrow: 4,
    cell: () => null,
    amount: ({ balance_after }) => balance_after,
  },
]

/** @param {Statement} page @param {boolean} showsHeld */
const sumsOf = ({ opening, closing }, showsHeld) =>
  facts([
    ['Opening balance', usd(opening.balance)],
    ['Closing balance', usd(closing.balance)],
    ...(showsHeld
      ? [
          /** @type {const} */ (['Held at the beginning', usd(opening.held)]),
          /** @type {const} */ (['Held at the end', usd(closing.held)]),
        ]
      : []),
  ])

/** @param {string} from @param {string} to */
const rangeName = (from, to) => {
  const ends = [...(from === '' ? [] : ['from', from]), ...(to === '' ? [] : ['to', to])]
  return ends.length === 0 ? [] : [...ends, 'utc']
}

/** What is asked for, and the controls that set it. */
const filtersOf = () => {
  const from = dayField()
  const to = dayField()
  const kind = select([
    ['', 'Movements of the balance'],
    [all, 'All, with holds and releases'],
    ...kinds.map((each) => /** @type {const} */ ([each, words(each)])),
  ])
  const order = select(
    /** @type {const} */ ([
      ['newest', 'Newest first'],
      ['oldest', 'Oldest first'],
    ]),
    'newest',
  )
  return {
    controls: [from, to, kind, order],
    form: filterForm(
      field('From (UTC)', from),
      field('To, included (UTC)', to),
      field('Kind', kind),
      field('Order', order),
    ),
    /** @param {URLSearchParams} asked the days of the address */
    fill: (asked) => {
      from.value = asked.get('from') ?? ''
      to.value = asked.get('to') ?? ''
    },
    showsHeld: () => withHeld.has(kind.value),
    query: () => ({
      ...rangeOf(from.value, to.value),
      ...(kind.value === all ? { holds: 'shown' } : { kind: kind.value }),
      order: order.value,
    }),
    fileName: (/** @type {string} */ workspace) =>
      `${['statement', workspace, ...rangeName(from.value, to.value)].join('-')}.csv`,
  }
}

/** @type {import('../views.d.ts').View} */
export const statement = {
  name: 'statement',
  title: 'Statement',
  permission: 'read_money',
  show: ({ session, scope, root, signal, hrefTo }) => {
    const { controls, form, fill, query, showsHeld, fileName } = filtersOf()
    const sums = h('div')
    const rows = h('div')
    const nextSignal = renewed(signal)
    /** @param {Record<string, string>} wanted @returns {(cursor: string | undefined) => Promise<Statement>} */
    const reading = (wanted) => (cursor) =>
      session.ledger(scope, '/statement', { ...wanted, cursor, limit: pageRows }, signal)

    const show = () => {
      const here = nextSignal()
      const read = reading(query())
      const { element } = virtualTable({
        label: 'Movements of the wallet',
        columns: columnsOf(hrefTo, showsHeld()),
        read: async (cursor) => {
          const page = await read(cursor)
          if (cursor === undefined && !here.aborted) replace(sums, sumsOf(page, showsHeld()))
          return page
        },
        signal: here,
        empty: 'No movement in these days. Credits, charges and holds appear here a moment after they are written.',
      })
      replace(rows, element)
    }
    const { button, status } = csvExport({
      columns: exported.map((name) => /** @type {const} */ ([name, (/** @type {Movement} */ row) => row[name]])),
      reading: () => reading(query()),
      fileName: () => fileName(scope ?? session.workspace?.id ?? 'workspace'),
      signal,
    })
    root.append(heading('Statement', button), form, status, sums, rows)
    fill(readAddress())
    for (const control of controls) control.addEventListener('change', show)
    show()
  },
}
