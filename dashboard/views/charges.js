// @ts-check
import { h, renewed, replace } from '../dom.js'
import { count, words } from '../format.js'
import { field, heading, idLink, time } from '../parts.js'
import { virtualTable } from '../virtual-table.js'
import { showCharge } from './charge.js'
import { filterInput, surfaceSelect } from './spend.js'

/** @typedef {import('../types.d.ts').Charge} Charge */

/** @param {(view: string, parameter?: string) => string} hrefTo @returns {import('../parts.js').Column<Charge>[]} */
const columnsOf = (hrefTo) => [
  { name: 'Time', className: 'wide-time', cell: ({ at }) => time(at) },
  { name: 'Charge', className: 'reference', cell: ({ id }) => idLink(id, hrefTo('charges', id)) },
  { name: 'Model', className: 'name', cell: ({ model }) => h('span', { title: model }, model) },
  { name: 'Surface', className: 'kind', cell: ({ surface }) => words(surface) },
  { name: 'In', numeric: true, className: 'tokens', cell: ({ prompt_tokens }) => count(prompt_tokens) },
  { name: 'Out', numeric: true, className: 'tokens', cell: ({ output_tokens }) => count(output_tokens) },
  { name: 'USD', className: 'amount', cell: () => null, amount: ({ total }) => total },
]

/** @param {import('../views.d.ts').ViewContext} context */
const showList = ({ session, scope, root, signal, hrefTo }) => {
  const model = filterInput('openai/gpt-5-mini')
  const surface = surfaceSelect()
  const tag = filterInput('team=search')
  const user = filterInput('as requests name it')
  const id = filterInput('ours, or the provider’s')
  const rows = h('div')
  const nextSignal = renewed(signal)
  const show = () => {
    const here = nextSignal()
    const labels = { tag: tag.value.trim(), user: user.value.trim() }
    const query = { model: model.value.trim(), surface: surface.value, ...labels, limit: 500 }
    const { element } = virtualTable({
      label: 'Charges',
      columns: columnsOf(hrefTo),
      read: (cursor) => session.ledger(scope, '/charges', { ...query, cursor }, here),
      signal: here,
      empty: 'No charge here. What is answered is charged, and appears a moment later.',
    })
    replace(rows, element)
  }
  /** @param {Event} event */
  const open = async (event) => {
    event.preventDefault()
    const given = id.value.trim()
    if (given === '') return
    /** @type {import('../types.d.ts').Page<import('../types.d.ts').Request>} */
    const called = await session
      .ledger(scope, '/requests', { upstream_request_id: given, limit: 1 }, signal)
      .catch(() => ({ data: [], next_cursor: null }))
    if (!signal.aborted) location.hash = hrefTo('charges', called.data[0]?.id ?? given)
  }
  root.append(
    heading('Charges'),
    h(
      'div',
      { class: 'filters' },
      field('Model', model),
      field('Surface', surface),
      field('Tag', tag),
      field('End user', user),
      h(
        'form',
        { class: 'joined', submit: (/** @type {Event} */ event) => void open(event) },
        field('Explain by id', id),
        h('button', { type: 'submit' }, 'Explain'),
      ),
    ),
    rows,
  )
  for (const control of [model, surface, tag, user]) control.addEventListener('change', show)
  show()
}

/** @type {import('../views.d.ts').View} */
export const charges = {
  name: 'charges',
  title: 'Charges',
  permission: 'read_money',
  show: (context) => (context.parameter === '' ? showList(context) : showCharge(context)),
}
