// @ts-check
import { h, replace } from '../dom.js'
import { count, words } from '../format.js'
import { operationButton } from '../operations.js'
import { errorPanel, expandable, heading, load, section, state, table, time } from '../parts.js'
import { readList } from '../session.js'

/** @typedef {import('../types.d.ts').Price} Price */
/** @typedef {import('../types.d.ts').PriceImport} PriceImport */
/** @typedef {PriceImport['changes'][number]} Change */
/** @typedef {import('../types.d.ts').Alias} Alias */
/** @typedef {import('../types.d.ts').Router} Router */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/** USD per million tokens, or of a unit of a video. @param {Price} price @returns {Readonly<Record<string, string>>} */
const ratesOf = ({ sheet, video }) =>
  sheet === undefined
    ? { unit: video?.unit_price ?? '' }
    : /** @type {Record<string, string>} */ ({ ...sheet.per_million_tokens })

/** @param {Price} price */
const isFree = (price) => Object.values(ratesOf(price)).every((rate) => Number(rate) === 0)

/** @param {Price} price */
const otherRates = (price) =>
  Object.entries(ratesOf(price))
    .filter(([item]) => item !== 'input' && item !== 'output')
    .map(([item, rate]) => `${words(item)} ${rate}`)
    .join(' · ')

/** @param {string} item @returns {import('../parts.js').Column<Price>} */
const rateColumn = (item) => ({
  name: `${words(item)}, USD`,
  cell: () => null,
  amount: (price) => ratesOf(price)[item] ?? '',
})

/** @param {(price: Price) => import('../dom.js').Child} first @returns {import('../parts.js').Column<Price>[]} */
const columnsOf = (first) => [
  { name: 'Model', className: 'name', cell: first },
  {
    name: 'State',
    cell: (price) =>
      isFree(price) ? state('free', 'busy') : price.in_force === false ? 'Not in force' : state('in force', 'good'),
  },
  rateColumn('input'),
  rateColumn('output'),
  { name: 'Other rates', className: 'wrap', cell: (price) => expandable(otherRates(price)) },
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

/** What an import would change, to be approved line by line. @param {PriceImport} compared @param {Record<string, unknown>} body @param {ViewContext} context @param {() => void} done */
const importDiff = ({ counts, changes }, body, { session }, done) => {
  const open = changes.filter(({ change }) => change === 'added' || change === 'changed')
  const boxes = new Map(
    open.map(({ name, model }) => [
      model ?? name,
      h('input', { type: 'checkbox', checked: true, 'aria-label': `Publish ${model ?? name}` }),
    ]),
  )
  const chosen = () => [...boxes].filter(([, { checked }]) => checked).map(([name]) => name)
  const fault = h('div', { 'aria-live': 'assertive' })
  const publish = async () => {
    try {
      await session.change('POST', '/admin/v1/prices/import', { ...body, dry_run: false, models: chosen() })
      done()
    } catch (refused) {
      replace(fault, errorPanel(refused, null))
    }
  }
  const approve = h('button', { type: 'button', class: 'primary', click: () => void publish() })
  const showCount = () => {
    const { length } = chosen()
    approve.textContent = `Publish ${count(length)} ${length === 1 ? 'price' : 'prices'}`
    approve.disabled = length === 0
  }
  for (const box of boxes.values()) box.addEventListener('change', showCount)
  showCount()
  return section(
    h('h2', {}, 'Import: what would change'),
    h(
      'p',
      { class: 'muted' },
      Object.entries(counts)
        .map(([change, number]) => `${count(number)} ${change}`)
        .join(' · '),
    ),
    table(
      'What would change',
      /** @type {import('../parts.js').Column<Change>[]} */ ([
        { name: 'Publish', cell: ({ name, model }) => boxes.get(model ?? name) },
        { name: 'Model', className: 'name', cell: ({ name, model }) => h('span', { title: name }, model ?? name) },
        { name: 'Change', cell: ({ change }) => state(change, change === 'changed' ? 'busy' : 'plain') },
        {
          name: 'From and to, USD per million tokens',
          className: 'wrap',
          cell: ({ differences }) =>
            h(
              'ul',
              { class: 'plain' },
              .../** @type {{ item: string, from: string | null, to: string | null }[]} */ (differences).map(
                ({ item, from, to }) => h('li', {}, `${item}: ${from ?? 'none'} → `, h('strong', {}, to ?? 'none')),
              ),
            ),
        },
      ]),
      open,
      'Nothing would change.',
    ),
    open.length === 0 ? null : approve,
    fault,
  )
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
            columnsOf(({ version }) => h('code', {}, version)),
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
    const again = () => {
      replace(diff)
      void load(body, signal, read, ({ found, aliases, routers }) => {
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
          table(
            'Prices in force',
            columnsOf(({ model }) => h('a', { href: hrefTo('prices', model), title: model }, model)),
            found,
            'No price yet.',
          ),
        ]
      })
    }
    root.append(
      heading(
        'Prices',
        h(
          'span',
          { class: 'buttons' },
          operationButton(session, {
            operation: 'POST /admin/v1/prices/import',
            permission: 'configure',
            label: 'Import',
            about: 'A table is compared with the prices in force; nothing is published before it is approved.',
            values: { dry_run: true },
            fixed: ['dry_run', 'models'],
            done: (answer, asked) => replace(diff, importDiff(/** @type {any} */ (answer), asked, context, again)),
          }),
          operationButton(session, {
            operation: 'POST /admin/v1/prices',
            permission: 'configure',
            label: 'Publish',
            title: 'Publish prices',
            done: again,
          }),
        ),
      ),
      diff,
      body,
    )
    again()
  },
}
