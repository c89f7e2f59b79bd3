// @ts-check
import { h, renewed, replace } from '../dom.js'
import { count, duration, words } from '../format.js'
import { field, heading, idLink, select, state, time } from '../parts.js'
import { virtualTable } from '../virtual-table.js'
import { filterInput, surfaceSelect } from './spend.js'

/** @typedef {import('../types.d.ts').Request} Request */

/** @param {Request} request */
const ending = ({ status, reason }) =>
  reason === null
    ? state(String(status), 'good')
    : h('span', { title: reason }, state(String(status), 'bad'), ` ${words(reason)}`)

/** The last call upstream: who answered, or failed last. @param {Request} request */
const lastCall = ({ attempts }) => {
  const last = attempts.findLast(({ outcome }) => outcome !== 'passed_over')
  if (last === undefined) return 'none'
  const { provider, deployment, upstream_request_id: id } = last
  return h('span', { title: id ?? '' }, deployment === null ? provider : `${provider} · ${deployment}`)
}

/** @param {import('../views.d.ts').ViewContext} context @returns {import('../parts.js').Column<Request>[]} */
const columnsOf = ({ hrefTo }) => [
  { name: 'Time', className: 'wide-time', cell: ({ at }) => time(at) },
  { name: 'Request', className: 'reference', cell: ({ id }) => idLink(id, hrefTo('charges', id)) },
  { name: 'Status', className: 'wrap', cell: ending },
  {
    name: 'Model',
    className: 'name',
    cell: ({ model, served_model: served }) => h('span', { title: `asked for: ${model}` }, served ?? model),
  },
  { name: 'Provider', className: 'kind', cell: lastCall },
  { name: 'Calls', numeric: true, cell: ({ attempts }) => count(attempts.length) },
  { name: 'In', numeric: true, className: 'tokens', cell: ({ prompt_tokens }) => count(prompt_tokens) },
  { name: 'Out', numeric: true, className: 'tokens', cell: ({ output_tokens }) => count(output_tokens) },
  { name: 'Took', numeric: true, cell: ({ duration_ms: ms }) => (ms < 10_000 ? `${ms} ms` : duration(ms)) },
  { name: 'USD', className: 'amount', cell: () => null, amount: ({ total }) => total },
]

/** @type {import('../views.d.ts').View} */
export const requests = {
  name: 'requests',
  title: 'Requests',
  permission: 'read_money',
  show: (context) => {
    const { session, scope, root, signal } = context
    const status = select([
      ['', 'All'],
      ['ok', 'Answered'],
      ['failed', 'Failed'],
    ])
    const model = filterInput('openai/gpt-5-mini')
    const surface = surfaceSelect()
    const upstreamId = filterInput()
    const rows = h('div')
    const nextSignal = renewed(signal)
    const show = () => {
      const here = nextSignal()
      const named = { model: model.value.trim(), upstream_request_id: upstreamId.value.trim() }
      const query = { status: status.value, surface: surface.value, ...named, limit: 500 }
      const { element } = virtualTable({
        label: 'Requests',
        columns: columnsOf(context),
        read: (cursor) => session.ledger(scope, '/requests', { ...query, cursor }, here),
        signal: here,
        empty: 'No request here. Each that was routed to a model appears a moment after its end, failed ones included.',
      })
      replace(rows, element)
    }
    root.append(
      heading('Requests'),
      h(
        'div',
        { class: 'filters' },
        field('Status', status),
        field('Model', model),
        field('Surface', surface),
        field('Provider’s request id', upstreamId),
      ),
      rows,
    )
    for (const control of [status, model, surface, upstreamId]) control.addEventListener('change', show)
    show()
  },
}
