// @ts-check
import { dayChart, share } from '../charts.js'
import { filterForm, h, onFilter, renewed, replace } from '../dom.js'
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
const surfaces = ['chat', 'messages', 'responses', 'gemini', 'embeddings', 'video', 'native-video']

/** @param {UsageRow[]} rows @param {string} first @param {AbortSignal} signal @param {(day: string) => string} hrefOf the charges of a day */
const byDay = (rows, first, signal, hrefOf) => {
  const total = sumOf(rows.map((row) => row.net))
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  if (rows.length === 0) return [h('p', { class: 'empty' }, 'Nothing was spent in these days.')]
  const label = `Spend by day in UTC: ${money(total)} USD in total. The same is in the table below.`
  return [
    h('p', { class: 'muted' }, usd(total), ` USD for ${count(requests)} ${requests === 1 ? 'request' : 'requests'}`),
    dayChart(everyDay(rows, first, utcDay(0)), { label, signal, hrefOf }),
    h(
      'details',
      {},
      h('summary', {}, 'Days as a table'),
      table(
        'Spend by day, UTC',
        /** @type {import('../parts.js').Column<UsageRow>[]} */ ([
          {
            name: 'Day (UTC)',
            cell: ({ day = '' }) =>
              h('a', { href: hrefOf(day) }, h('time', { datetime: day }, dayText(day, Date.now()))),
          },
          { name: 'Requests', numeric: true, cell: (row) => count(row.requests) },
          { name: 'Tokens in', numeric: true, cell: ({ tokens }) => count(tokens['prompt_total'] ?? 0) },
          { name: 'Tokens out', numeric: true, cell: ({ tokens }) => count(tokens['output_total'] ?? 0) },
          { name: 'Charges, USD', cell: () => null, amount: (row) => row.total },
          { name: 'Corrections, USD', cell: () => null, amount: (row) => row.corrections },
          { name: 'Fees, USD', cell: () => null, amount: (row) => row.fees },
          { name: 'Total, USD', cell: () => null, amount: (row) => row.net },
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
 * @param {((row: UsageRow) => string) | undefined} hrefOf the charges of a row
 */
const byGroup = (title, nameOf, rows, hrefOf) => {
  const sorted = rows.toSorted((one, other) => compareAmounts(other.net, one.net))
  const most = sorted[0]?.net ?? '0'
  return table(
    `Spend by ${title.toLowerCase()}`,
    /** @type {import('../parts.js').Column<UsageRow>[]} */ ([
      {
        name: title,
        className: 'name',
        cell: (row) =>
          hrefOf === undefined
            ? h('span', { title: nameOf(row) }, nameOf(row))
            : h('a', { href: hrefOf(row), title: nameOf(row) }, nameOf(row)),
      },
      { name: 'Share', className: 'part', cell: (row) => share(row.net, most) },
      { name: 'Requests', numeric: true, cell: (row) => count(row.requests) },
      { name: 'USD', cell: () => null, amount: (row) => row.net },
    ]),
    sorted,
    'Nothing was spent in these days.',
  )
}

/** What the charges can be filtered by too. @param {string} group @returns {group is 'model' | 'key' | 'surface'} */
const isNarrowing = (group) => ['model', 'key', 'surface'].includes(group)

export const surfaceSelect = () =>
  select([['', 'All surfaces'], ...surfaces.map((name) => /** @type {const} */ ([name, words(name)]))])

/** The days that the read API takes. */
export const dayField = () => h('input', { type: 'date', min: '1970-01-01', max: '9999-12-30' })

/** @param {string} [placeholder] */
export const filterInput = (placeholder = '') =>
  h('input', { type: 'text', placeholder, autocomplete: 'off', spellcheck: 'false' })

/** The controls, and what they are set to. */
const filtersOf = () => {
  const span = select(spans, '30')
  const model = select([['', 'All models']])
  const key = select([['', 'All keys']])
  const surface = surfaceSelect()
  const tag = filterInput('team=search')
  const user = filterInput('as requests name it')
  const listed = select([
    ['', 'Not listed'],
    ['end_user', 'Listed'],
  ])
  const tagName = () => tag.value.trim().split('=')[0] ?? ''
  return {
    model,
    key,
    controls: [span, model, key, surface, tag, user, listed],
    form: filterForm(
      field('Days (UTC)', span),
      field('Model', model),
      field('Key', key),
      field('Surface', surface),
      field('Tag', tag),
      field('End user', user),
      field('End users', listed),
    ),
    first: () => utcDay(Number(span.value) - 1),
    query: () => ({
      model: model.value,
      key: key.value,
      surface: surface.value,
      tag: tag.value.includes('=') ? tag.value.trim() : '',
      user: user.value.trim(),
    }),
    /** @returns {readonly (readonly [string, string, (row: UsageRow) => string])[]} */
    labels: () => [
      ...(tagName() === ''
        ? []
        : [
            /** @type {const} */ ([
              `Tag ${tagName()}`,
              `tag:${tagName()}`,
              (/** @type {UsageRow} */ row) => row.tag ?? '',
            ]),
          ]),
      ...(listed.value === ''
        ? []
        : [/** @type {const} */ (['End user', 'end_user', (/** @type {UsageRow} */ row) => row.end_user ?? ''])]),
    ],
  }
}

/** @type {import('../views.d.ts').View} */
export const spend = {
  name: 'spend',
  title: 'Spend',
  permission: 'read_money',
  show: ({ session, scope, root, signal, hrefTo }) => {
    const { model, key, controls, form, first, query, labels } = filtersOf()
    const results = h('div', { class: 'stack', 'aria-busy': 'true' })
    const nextSignal = renewed(signal)
    /** @type {Map<string, string>} */
    const names = new Map()
    const parts = /** @type {const} */ ([
      ['Model', 'model', (/** @type {UsageRow} */ row) => row.model ?? ''],
      ['Key', 'key', (/** @type {UsageRow} */ { key: id = '' }) => names.get(id) ?? id],
      ['Surface', 'surface', (/** @type {UsageRow} */ row) => words(row.surface ?? '')],
    ])
    /** @param {string} group @param {Record<string, string>} [filters] @returns {Promise<UsageRow[]>} */
    const read = (group, filters = query()) => {
      const wanted = { group_by: group, from: first(), limit: 1000, ...filters }
      return readAll((cursor) => session.ledger(scope, '/usage', { ...wanted, cursor }, signal))
    }
    /** @param {Readonly<Record<string, string>>} narrowed */
    const chargesOf = (narrowed) => {
      const given = Object.entries({ from: first(), ...query(), ...narrowed }).filter(([, value]) => value !== '')
      return `${hrefTo('charges')}?${new URLSearchParams(given)}`
    }
    const show = () => {
      results.removeAttribute('aria-busy')
      const here = nextSignal()
      const days = h('div')
      void load(
        days,
        here,
        () => read('day'),
        (rows) => byDay(rows, first(), here, (day) => chargesOf({ from: day, to: day })),
      )
      const groups = [...parts, ...labels()].map(([title, group, nameOf]) => {
        const place = h('div')
        void load(
          place,
          here,
          () => read(group),
          (rows) => [
            byGroup(
              title,
              nameOf,
              rows,
              isNarrowing(group) ? (row) => chargesOf({ [group]: row[group] ?? '' }) : undefined,
            ),
          ],
        )
        return section(h('h2', {}, `By ${title.toLowerCase()}`), place)
      })
      replace(results, days, h('div', { class: 'columns' }, ...groups))
    }
    const fillFilters = async () => {
      const keys = /** @type {Key[]} */ (
        await readAll((cursor) => session.ledger(scope, '/keys', { cursor, limit: 1000 }, signal))
      )
      for (const { id, name } of keys) {
        names.set(id, name)
        key.append(h('option', { value: id }, name))
      }
      for (const row of await read('model', {}))
        if (row.requests > 0) model.append(h('option', { value: row.model ?? '' }, row.model ?? ''))
    }
    root.append(heading('Spend'), form, results)
    onFilter(controls, signal, show)
    // Names are of use and not needed.
    void fillFilters()
      .catch(() => undefined)
      .then(() => (signal.aborted ? undefined : show()))
  },
}
