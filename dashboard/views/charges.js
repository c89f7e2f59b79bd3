// @ts-check
import { h, keepInAddress, onFilter, readAddress, renewed, replace } from '../dom.js'
import { count, rangeOf, words } from '../format.js'
import { field, heading, idLink, select, time } from '../parts.js'
import { readAll } from '../session.js'
import { virtualTable } from '../virtual-table.js'
import { showCharge } from './charge.js'
import { dayField, filterInput, surfaceSelect } from './spend.js'

/** @typedef {import('../types.d.ts').Charge} Charge */

/** @param {(view: string, parameter?: string) => string} hrefTo @param {ReadonlyMap<string, string>} names @returns {import('../parts.js').Column<Charge>[]} */
const columnsOf = (hrefTo, names) => [
  { name: 'Time', className: 'wide-time', narrow: 1, cell: ({ at }) => time(at) },
  { name: 'Charge', className: 'reference', narrow: 5, cell: ({ id }) => idLink(id, hrefTo('charges', id)) },
  { name: 'Model', className: 'name', narrow: 3, cell: ({ model }) => h('span', { title: model }, model) },
  {
    name: 'Key',
    className: 'key',
    narrow: 4,
    cell: ({ key }) => h('span', { title: key }, names.get(key) ?? key),
  },
  { name: 'Surface', className: 'kind', narrow: 6, cell: ({ surface }) => words(surface) },
  { name: 'In', numeric: true, className: 'tokens', cell: ({ prompt_tokens }) => count(prompt_tokens) },
  { name: 'Out', numeric: true, className: 'tokens', cell: ({ output_tokens }) => count(output_tokens) },
  { name: 'USD', className: 'amount', narrow: 2, cell: () => null, amount: ({ total }) => total },
]

/** @param {import('../views.d.ts').ViewContext} context */
const showList = ({ session, scope, root, signal, hrefTo }) => {
  const [from, to] = [dayField(), dayField()]
  const key = select([['', 'All keys']])
  const model = filterInput('openai/gpt-5-mini')
  const surface = surfaceSelect()
  const tag = filterInput('team=search')
  const user = filterInput('as requests name it')
  const controls = { from, to, model, key, surface, tag, user }
  const id = filterInput('ours, or the provider’s')
  const rows = h('div', { 'aria-busy': 'true' })
  const nextSignal = renewed(signal)
  /** @type {Map<string, string>} */
  const names = new Map()
  const chosen = () =>
    /** @type {Record<string, string>} */ (
      Object.fromEntries(Object.entries(controls).map(([name, { value }]) => [name, value.trim()]))
    )
  const change = () => {
    keepInAddress(hrefTo('charges'), chosen())
    show()
  }
  const show = () => {
    const here = nextSignal()
    const { from: first = '', to: last = '', ...wanted } = chosen()
    const query = { ...wanted, ...rangeOf(first, last), limit: 500 }
    const { element } = virtualTable({
      label: 'Charges',
      columns: columnsOf(hrefTo, names),
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
    /** @param {Record<string, string>} named @returns {Promise<string | undefined>} */
    const find = (named) =>
      session.ledger(scope, '/requests', { ...named, limit: 1 }, signal).then(
        (/** @type {import('../types.d.ts').Page<import('../types.d.ts').Request>} */ { data }) => data[0]?.id,
        () => undefined,
      )
    const found = (await find({ id: given })) ?? (await find({ upstream_request_id: given })) ?? given
    if (!signal.aborted) location.hash = hrefTo('charges', found)
  }
  root.append(
    heading('Charges'),
    h(
      'div',
      { class: 'filters' },
      field('From (UTC)', from),
      field('To (UTC)', to),
      field('Model', model),
      field('Key', key),
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
  onFilter(Object.values(controls), signal, change)
  const fillKeys = async () => {
    const keys = /** @type {import('../types.d.ts').Key[]} */ (
      await readAll((cursor) => session.ledger(scope, '/keys', { cursor, limit: 1000 }, signal))
    )
    for (const { id, name } of keys) {
      names.set(id, name)
      key.append(h('option', { value: id }, name))
    }
  }
  // Names are of use and not needed.
  void fillKeys()
    .catch(() => undefined)
    .then(() => {
      if (signal.aborted) return
      const asked = readAddress()
      for (const [name, control] of Object.entries(controls)) control.value = asked.get(name) ?? ''
      rows.removeAttribute('aria-busy')
      show()
    })
}

/** @type {import('../views.d.ts').View} */
export const charges = {
  name: 'charges',
  title: 'Charges',
  permission: 'read_money',
  show: (context) => (context.parameter === '' ? showList(context) : showCharge(context, 'charges')),
}
