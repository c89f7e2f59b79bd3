// @ts-check
import { h, replace } from '../dom.js'
import { count, words } from '../format.js'
import { errorPanel, section, state, table } from '../parts.js'

/** @typedef {import('../types.d.ts').PriceImport} PriceImport */
/** @typedef {PriceImport['changes'][number]} Change */
/** @typedef {{ item: string, from: string | null, to: string | null }} Difference */

const rowsShownMax = 200

/** `service_tiers.priority.per_million_tokens.cached_input` as "Priority: cached input". @param {string} item */
export const labelOf = (item) => {
  const parts = item
    .replace(/^(.*\.)?per_million_tokens\./, '$1')
    .replace(/^service_tiers\.([^.]+)/, '$1')
    .replace(/(^|\.)tiers\.(\d+)/, '$1above $2 tokens')
    .split('.')
  return words(parts.join(': '))
}

/** What is removed as one: a service tier, a tier of long prompts, or one rate. @param {string} item */
const groupOf = (item) => /^(service_tiers\.[^.]+|tiers\.\d+)/.exec(item)?.[0] ?? item

/** @param {Change} change */
const changeList = ({ differences }) =>
  h(
    'ul',
    { class: 'plain' },
    .../** @type {Difference[]} */ (differences).map(({ item, from, to }) =>
      h('li', {}, `${labelOf(item)}: ${from ?? 'none'} → `, h('strong', {}, to ?? 'none')),
    ),
  )

/** Rates that the table does not have, each with a box to remove it. @param {Change} change @param {Map<string, HTMLInputElement>} removals */
const keptList = ({ kept, model }, removals) => {
  const groups = Map.groupBy(kept, ({ item }) => groupOf(item))
  return h(
    'ul',
    { class: 'plain' },
    ...[...groups].map(([item, rates]) => {
      const named = rates.map((each) => `${labelOf(each.item)} ${each.rate}`).join(', ')
      const key = `${model} ${item}`
      const box = removals.get(key) ?? h('input', { type: 'checkbox', 'aria-label': `Remove ${named} of ${model}` })
      removals.set(key, box)
      return h('li', {}, h('label', { class: 'check' }, box, `Remove ${named}`))
    }),
  )
}

/** @param {readonly Change[]} unsupported */
const unsupportedRows = (unsupported) => {
  if (unsupported.length === 0) return null
  const shown = unsupported.toSorted((a, b) => Number(b.model !== null) - Number(a.model !== null))
  return h(
    'details',
    { open: unsupported.length <= 10 },
    h('summary', {}, `${count(unsupported.length)} not supported`),
    table(
      'Rows that are not supported',
      /** @type {import('../parts.js').Column<Change>[]} */ ([
        { name: 'Row', className: 'name', cell: ({ name }) => name },
        {
          name: 'Reason',
          className: 'wrap',
          cell: ({ left_out }) =>
            /** @type {{ field: string, reason: string }[]} */ (left_out)
              .map(({ field, reason }) => `${field} ${reason}`.trim())
              .join('; '),
        },
      ]),
      shown.slice(0, rowsShownMax),
    ),
    shown.length > rowsShownMax ? h('p', { class: 'muted' }, `The first ${rowsShownMax} are shown.`) : null,
  )
}

/**
 * What an import would change, to be approved line by line. What the table does not have is removed only where its box is ticked.
 *
 * @param {PriceImport} compared
 * @param {Record<string, unknown>} body
 * @param {import('../views.d.ts').ViewContext} context
 * @param {(published: PriceImport['published']) => void} done
 */
export const importDiff = ({ counts, changes }, body, { session }, done) => {
  const open = changes.filter(
    ({ change, kept }) => change !== 'unsupported' && (change !== 'unchanged' || kept.length > 0),
  )
  /** @type {Map<string, HTMLInputElement>} */
  const boxes = new Map()
  for (const { name, model, change } of open)
    if (change !== 'unchanged')
      boxes.set(
        model ?? name,
        h('input', { type: 'checkbox', checked: true, 'aria-label': `Publish ${model ?? name}` }),
      )
  /** @type {Map<string, HTMLInputElement>} */
  const removals = new Map()
  const ticked = (/** @type {Map<string, HTMLInputElement>} */ among) =>
    [...among].filter(([, { checked }]) => checked).map(([name]) => name)
  const chosen = () => [
    ...new Set([...ticked(boxes), ...ticked(removals).map((each) => each.slice(0, each.indexOf(' ')))]),
  ]
  const fault = h('div', { 'aria-live': 'assertive' })
  const publish = async () => {
    approve.disabled = true
    try {
      const asked = { ...body, dry_run: false, models: chosen(), remove: ticked(removals) }
      const { published } = /** @type {PriceImport} */ (await session.change('POST', '/admin/v1/prices/import', asked))
      done(published)
    } catch (refused) {
      replace(fault, errorPanel(refused, null))
      approve.disabled = false
    }
  }
  const approve = h('button', { type: 'button', class: 'primary', click: () => void publish() })
  const showCount = () => {
    const { length } = chosen()
    approve.textContent = `Publish ${count(length)} ${length === 1 ? 'price' : 'prices'}`
    approve.disabled = length === 0
  }
  const rows = table(
    'What would change',
    /** @type {import('../parts.js').Column<Change>[]} */ ([
      { name: 'Publish', cell: ({ name, model }) => boxes.get(model ?? name) ?? '' },
      { name: 'Model', className: 'name', cell: ({ name, model }) => h('span', { title: name }, model ?? name) },
      { name: 'Change', cell: ({ change }) => state(change, change === 'changed' ? 'busy' : 'plain') },
      { name: 'From and to, USD per million tokens', className: 'wrap', cell: changeList },
      { name: 'In force, absent from the table', className: 'wrap', cell: (change) => keptList(change, removals) },
    ]),
    open,
    'Nothing would change.',
  )
  for (const box of [...boxes.values(), ...removals.values()]) box.addEventListener('change', showCount)
  showCount()
  const isNothing = counts.added + counts.changed + counts.unchanged === 0
  return section(
    h('h2', {}, 'Import: what would change'),
    h(
      'p',
      { class: 'muted' },
      Object.entries(counts)
        .map(([change, number]) => `${count(number)} ${change}`)
        .join(' · '),
    ),
    isNothing ? h('p', { class: 'notice bad' }, 'No row of the table can be published.') : null,
    isNothing ? null : rows,
    open.length === 0 ? null : approve,
    fault,
    unsupportedRows(changes.filter(({ change }) => change === 'unsupported')),
  )
}
