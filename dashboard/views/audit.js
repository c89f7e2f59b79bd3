// @ts-check
import { filterForm, h, keepInAddress, readAddress, renewed, replace } from '../dom.js'
import { field, heading, time } from '../parts.js'
import { virtualTable } from '../virtual-table.js'
import { changeHref, showChange, typeText } from './change.js'
import { filterInput } from './spend.js'

/** @typedef {import('../types.d.ts').AdminEvent} AdminEvent */

/** @param {object} detail */
const detailText = (detail) =>
  Object.entries(detail)
    .filter(([name]) => name !== 'workspaceId') // It has a column.
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(' · ')

/** @type {import('../parts.js').Column<AdminEvent>[]} */
const ofWorkspaces = [
  { name: 'Workspace', className: 'kind', narrow: 4, cell: ({ workspace }) => workspace ?? '' },
  { name: 'Of', className: 'reference', cell: ({ subject }) => h('span', { title: subject ?? '' }, subject ?? '') },
]

/** @returns {import('../parts.js').Column<AdminEvent>[]} */
const columnsOf = (/** @type {boolean} */ isOfOne) => [
  { name: 'Time', className: 'wide-time', narrow: 1, cell: (event) => time(event.time) },
  {
    name: 'Who',
    className: 'reference',
    narrow: 2,
    cell: ({ actor }) => h('span', { title: actor ?? '' }, actor ?? 'the gateway'),
  },
  {
    name: 'Change',
    className: 'reference',
    narrow: 3,
    cell: (event) => h('a', { href: changeHref(event) }, typeText(event.type)),
  },
  ...(isOfOne ? [] : ofWorkspaces),
  { name: 'Details', narrow: 5, cell: ({ detail }) => h('span', { title: detailText(detail) }, detailText(detail)) },
]

/** Who changed what, newest first. @param {import('../session.js').Session} session @param {Record<string, string>} query @param {AbortSignal} signal */
export const auditTable = (session, query, signal) =>
  virtualTable({
    label: 'Changes',
    columns: columnsOf(query['workspace'] !== undefined && query['workspace'] !== ''),
    read: (cursor) => session.get('/admin/v1/events', { ...query, cursor, limit: 200 }, signal),
    signal,
    empty: 'Nothing was changed.',
  }).element

/** @type {import('../views.d.ts').View} */
export const audit = {
  name: 'audit',
  title: 'Audit trail',
  permission: 'read_money',
  show: (context) => {
    if (context.parameter !== '') {
      showChange(context)
      return
    }
    const { session, root, signal, hrefTo } = context
    const filters = { workspace: filterInput('acme'), actor: filterInput('admin:ana') }
    const rows = h('div')
    const nextSignal = renewed(signal)
    const chosen = () => Object.fromEntries(Object.entries(filters).map(([name, { value }]) => [name, value.trim()]))
    const show = () => replace(rows, auditTable(session, chosen(), nextSignal()))
    const change = () => {
      keepInAddress(hrefTo('audit'), chosen())
      show()
    }
    root.append(
      heading('Audit trail'),
      filterForm(field('Workspace’s id', filters.workspace), field('Who', filters.actor)),
      rows,
    )
    const asked = readAddress()
    for (const [name, control] of Object.entries(filters)) {
      control.value = asked.get(name) ?? ''
      control.addEventListener('change', change)
    }
    show()
  },
}
