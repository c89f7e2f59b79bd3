// @ts-check
import { filterForm, h, replace } from '../dom.js'
import { localDay, localTime, words } from '../format.js'
import { operationButton } from '../operations.js'
import { acknowledge, expandable, field, heading, load, state, table, time } from '../parts.js'
import { readList } from '../session.js'
import { importDiff, labelOf } from './price-import.js'
import { filterInput } from './spend.js'

/** @typedef {import('../types.d.ts').Price} Price */
/** @typedef {import('../types.d.ts').Alias} Alias */
/** @typedef {import('../types.d.ts').Router} Router */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

const ratesShown = 2

/** @param {unknown} value @param {string} path @returns {(readonly [item: string, rate: string])[]} */
const ratesIn = (value, path) => {
  if (Array.isArray(value))
    return value.flatMap(({ prompt_tokens_above: above, ...tier }) => ratesIn(tier, `${path}.${above}`))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, inner]) => ratesIn(inner, path === '' ? name : `${path}.${name}`))
  return typeof value === 'string' ? [[labelOf(path), value]] : []
}

/** Every rate: USD per million tokens or a call, by tier, or of a unit of a video. @param {Price} price @returns {Readonly<Record<string, string>>} */
const ratesOf = ({ sheet, video }) =>
  sheet === undefined ? { Unit: video?.unit_price ?? '' } : Object.fromEntries(ratesIn(sheet, ''))

/** @param {Price} price */
const isFree = (price) => Object.values(ratesOf(price)).every((rate) => Number(rate) === 0)

/** @param {Price} price */
const otherRates = (price) => {
  const others = Object.entries(ratesOf(price)).filter(([item]) => item !== 'Input' && item !== 'Output')
  if (others.length === 0) return ''
  const lines = others.map(([item, rate]) => h('li', {}, `${item} ${rate}`))
  const list = h('ul', { class: 'plain' }, ...lines)
  return others.length <= ratesShown ? list : h('details', {}, h('summary', {}, `${others.length} further rates`), list)
}

/** @param {string} item @returns {import('../parts.js').Column<Price>} */
const rateColumn = (item) => ({
  name: `${words(item)}, USD`,
  cell: () => null,
  amount: (price) => ratesOf(price)[words(item)] ?? '',
})

/** @param {Price} price */
const stateOf = (price) => {
  const { in_force, effective_from } = price
  if (in_force === false)
    return Date.parse(effective_from) > Date.now() ? `From ${localDay(effective_from)}` : 'Replaced'
  return isFree(price) ? state('free', 'busy') : state('in force', 'good')
}

/** @param {string} name @param {(price: Price) => import('../dom.js').Child} first @returns {import('../parts.js').Column<Price>[]} */
const columnsOf = (name, first) => [
  { name, className: 'name', cell: first },
  { name: 'State', cell: stateOf },
  rateColumn('input'),
  rateColumn('output'),
  { name: 'Other rates', className: 'wrap', cell: otherRates },
  { name: 'From', cell: ({ effective_from }) => time(effective_from) },
  { name: 'Source', className: 'wrap', cell: ({ source }) => expandable(source) },
]

/** Models that aliases and routers lead to and that have no price. @param {Price[]} prices @param {Alias[]} aliases @param {Router[]} routers */
const missingOf = (prices, aliases, routers) => {
  const named = [
    ...aliases.map(({ model }) => model ?? ''),
    ...routers.flatMap(({ candidates }) => (candidates ?? []).map(({ model }) => model)),
  ]
  const known = new Set([...prices.map(({ model }) => model), ...aliases.map(({ alias }) => alias)])
  return [...new Set(named)].filter((model) => model.includes('/') && !known.has(model))
}

/** @type {import('../views.d.ts').View} */
export const prices = {
  name: 'prices',
  title: 'Prices',
  permission: 'read',
  show: (context) => {
    const { session, root, signal, parameter, hrefTo } = context
    const body = h('div', { class: 'stack' })
    if (parameter !== '') {
      root.append(
        h('p', {}, h('a', { href: hrefTo('prices') }, '← All prices')),
        heading(`Prices of ${parameter}`),
        body,
      )
      void load(
        body,
        signal,
        () => session.get(`/admin/v1/prices/${encodeURIComponent(parameter)}`, {}, signal),
        (/** @type {{ data: Price[] }} */ { data }) => [
          table(
            `Prices of ${parameter}`,
            columnsOf('Version', ({ version }) => h('code', {}, version)),
            data.toReversed(),
          ),
        ],
      )
      return
    }
    const diff = h('div', { class: 'stack' })
    const read = async () => ({
      found: /** @type {Price[]} */ (await readList(session, '/admin/v1/prices', signal)),
      aliases: /** @type {Alias[]} */ (await readList(session, '/admin/v1/aliases', signal)),
      routers: /** @type {Router[]} */ (await readList(session, '/admin/v1/routers', signal)),
    })
    const search = filterInput('claude')
    const list = h('div')
    /** @type {Price[]} */
    let known = []
    const showKnown = () =>
      replace(
        list,
        table(
          'Prices in force',
          columnsOf('Model', ({ model }) => h('a', { href: hrefTo('prices', model), title: model }, model)),
          known.filter(({ model }) => model.toLowerCase().includes(search.value.trim().toLowerCase())),
          known.length === 0 ? 'No price yet.' : 'No model with a price has this in its name.',
          { isCards: true },
        ),
      )
    search.addEventListener('input', showKnown)
    const again = () => {
      replace(diff)
      void load(body, signal, read, ({ found, aliases, routers }) => {
        known = found
        showKnown()
        const missing = missingOf(found, aliases, routers)
        return [
          missing.length === 0
            ? null
            : h(
                'p',
                { class: 'notice bad' },
                h('span', {}, 'Without a price, and so refused: ', h('code', {}, missing.join(', '))),
              ),
          h('p', { class: 'muted' }, 'USD per million tokens, in force now; a model opens its history.'),
          filterForm(field('Model or provider', search)),
          list,
        ]
      })
    }
    /** What was sent last, to be corrected until it is published. @type {Record<string, unknown>} */
    const values = { dry_run: true }
    /** @param {Record<string, unknown>} asked */
    const keep = (asked) => {
      for (const name of Object.keys(values)) delete values[name] // Also what was left out of it.
      Object.assign(values, asked)
    }
    /** @param {import('../types.d.ts').PriceImport['published']} rows */
    const published = (rows) => {
      keep({ dry_run: true })
      const instants = [...new Set(rows.map(({ effective_from }) => localTime(effective_from)))]
      const from = instants.length === 1 ? `, in force from ${instants[0]}` : ''
      acknowledge(`${rows.length} ${rows.length === 1 ? 'price' : 'prices'} published${from}.`)
      again()
    }
    root.append(
      heading(
        'Prices',
        operationButton(session, {
          operation: 'POST /admin/v1/prices/import',
          permission: 'configure',
          label: 'Import',
          confirm: 'Compare',
          about: 'The table is compared with the prices in force. Nothing is published before you approve it.',
          values,
          fixed: ['dry_run', 'models', 'remove'],
          sourceOf: { table: 'source' },
          keep,
          done: (answer, asked) => replace(diff, importDiff(/** @type {any} */ (answer), asked, context, published)),
        }),
      ),
      diff,
      body,
    )
    again()
  },
}
