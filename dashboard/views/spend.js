// @ts-check
import { dayChart, share } from '../charts.js'
import { h, replace } from '../dom.js'
import { compareAmounts, count, dayText, money, sumOf, words } from '../format.js'
import { field, heading, load, section, select, table, usd } from '../parts.js'
import { readAll } from '../session.js'
import { everyDay, utcDay } from './overview.js'

/** @typedef {import('../types.d.ts').UsageRow} UsageRow */
/** @typedef {import('../types.d.ts').Key} Key */

const spans = /** @type {const} */ ([
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
  ['365', 'Last year'],
])
export const surfaces = ['chat', 'messages', 'responses', 'video', 'native-video']

/** @param {UsageRow[]} rows @param {string} first @param {AbortSignal} signal */
const byDay = (rows, first, signal) => {
  const total = sumOf(rows.map((row) => row.total))
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  if (rows.length === 0) return [h('p', { class: 'empty' }, 'Nothing was spent in these days.')]
  const label = `Spend by day in UTC: ${money(total)} USD together. The same is in the table below.`
  return [
    h('p', { class: 'muted' }, usd(total), ` USD for ${count(requests)} ${requests === 1 ? 'request' : 'requests'}`),
    dayChart(everyDay(rows, first, utcDay(0)), { label, signal }),
    h(
      'details',
      {},
      h('summary', {}, 'Days as a table'),
      table(
        'Spend by day, UTC',
        /** @type {import('../parts.js').Column<UsageRow>[]} */ ([
          { name: 'Day (UTC)', cell: ({ day = '' }) => h('time', { datetime: day }, dayText(day)) },
          { name: 'Requests', numeric: true, cell: (row) => count(row.requests) },
          { name: 'Tokens in', numeric: true, cell: ({ tokens }) => count(tokens['prompt_total'] ?? 0) },
          { name: 'Tokens out', numeric: true, cell: ({ tokens }) => count(tokens['output_total'] ?? 0) },
          { name: 'USD', cell: () => null, amount: (row) => row.total },
        ]),
        rows.toReversed(),
      ),
    ),
  ]
}

/**
 * @param {string} title
 * @param {(row: UsageRow) => string} nameOf
 * @param {UsageRow[]} rows
 */
const byGroup = (title, nameOf, rows) => {
  const sorted = rows.toSorted((one, other) => compareAmounts(other.total, one.total))
  const most = sorted[0]?.total ?? '0'
  return table(
    `Spend by ${title.toLowerCase()}`,
    /** @type {import('../parts.js').Column<UsageRow>[]} */ ([
      { name: title, className: 'name', cell: (row) => h('span', { title: nameOf(row) }, nameOf(row)) },
      { name: 'Part', className: 'part', cell: (row) => share(row.total, most) },
      { name: 'Requests', numeric: true, cell: (row) => count(row.requests) },
      { name: 'USD', cell: () => null, amount: (row) => row.total },
    ]),
    sorted,
    'Nothing was spent in these days.',
  )
}

/** @type {import('../views.d.ts').View} */
export const spend = {
  name: 'spend',
  title: 'Spend',
  show: ({ session, scope, root, signal }) => {
    const span = select(spans, '30')
    const model = select([['', 'All models']])
    const key = select([['', 'All keys']])
    const surface = select([
      ['', 'All surfaces'],
      ...surfaces.map((name) => /** @type {const} */ ([name, words(name)])),
    ])
    const results = h('div', { class: 'stack' })
    root.append(
      heading('Spend'),
      h(
        'form',
        { class: 'filters', submit: (/** @type {Event} */ event) => event.preventDefault() },
        field('Days', span),
        field('Model', model),
        field('Key', key),
        field('Surface', surface),
      ),
      results,
    )
    /** @type {Map<string, string>} */
    const names = new Map()
    const keyName = ({ key: id = '' }) => names.get(id) ?? id

    /** @param {string} group @param {boolean} [everything] @returns {Promise<UsageRow[]>} */
    const read = (group, everything = false) => {
      const filters = everything ? {} : { model: model.value, key: key.value, surface: surface.value }
      const query = { group_by: group, from: utcDay(Number(span.value) - 1), limit: 1000, ...filters }
      return readAll((cursor) => session.ledger(scope, '/usage', { ...query, cursor }, signal))
    }
    let shown = new AbortController()
    const show = () => {
      shown.abort()
      shown = new AbortController()
      const here = AbortSignal.any([signal, shown.signal])
      const days = h('div')
      const parts = /** @type {const} */ ([
        ['Model', 'model', (/** @type {UsageRow} */ row) => row.model ?? ''],
        ['Key', 'key', keyName],
        ['Surface', 'surface', (/** @type {UsageRow} */ row) => words(row.surface ?? '')],
      ])
      const first = utcDay(Number(span.value) - 1)
      void load(
        days,
        here,
        () => read('day'),
        (rows) => byDay(rows, first, here),
      )
      replace(
        results,
        days,
        h(
          'div',
          { class: 'columns' },
          ...parts.map(([title, group, nameOf]) => {
            const place = h('div')
            void load(
              place,
              here,
              () => read(group),
              (rows) => [byGroup(title, nameOf, rows)],
            )
            return section(h('h2', {}, `By ${title.toLowerCase()}`), place)
          }),
        ),
      )
    }
    const fillFilters = async () => {
      const keys = /** @type {Key[]} */ (
        await readAll((cursor) => session.ledger(scope, '/keys', { cursor, limit: 1000 }, signal))
      )
      for (const { id, name } of keys) {
        names.set(id, name)
        key.append(h('option', { value: id }, name))
      }
      for (const row of await read('model', true))
        model.append(h('option', { value: row.model ?? '' }, row.model ?? ''))
    }
    for (const control of [span, model, key, surface]) control.addEventListener('change', show)
    // Names are of use and not needed.
    void fillFilters()
      .catch(() => undefined)
      .then(() => (signal.aborted ? undefined : show()))
  },
}
