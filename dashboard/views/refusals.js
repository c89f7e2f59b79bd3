// @ts-check
import { h } from '../dom.js'
import { count, words } from '../format.js'
import { load, section, table, time, workspaceLink } from '../parts.js'
import { isOfAll } from '../session.js'

/** @typedef {import('../types.d.ts').Refusals} Refusals */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/**
 * What ids are called: keys, and workspaces where the requests of all are shown.
 *
 * @typedef {{ keys: ReadonlyMap<string, string>, workspaces: ReadonlyMap<string, string> }} Names
 */

const refusalRows = 50

/** @param {ViewContext} context @param {Names} names @returns {import('../parts.js').Column<Refusals>[]} */
const refusalColumns = (context, { keys, workspaces }) => [
  { name: 'Minute', cell: ({ minute }) => time(minute) },
  ...(isOfAll(context)
    ? [
        {
          name: 'Workspace',
          className: 'name',
          cell: (/** @type {Refusals} */ { workspace }) =>
            workspace === null ? 'none' : workspaceLink(workspace, 'requests', workspaces),
        },
      ]
    : []),
  {
    name: 'Key',
    className: 'name',
    cell: ({ key }) => (key === null ? 'none that works' : h('span', { title: key }, keys.get(key) ?? key)),
  },
  { name: 'Code', cell: ({ code }) => h('span', { title: code }, words(code)) },
  { name: 'Requests', numeric: true, cell: (row) => count(row.count) },
]

/** @param {ViewContext} context @param {Names} names */
export const refusalsSection = (context, names) => {
  const { session, scope, signal } = context
  const body = h('div')
  void load(
    body,
    signal,
    () => session.ledger(scope, '/refusals', { limit: refusalRows }, signal),
    (/** @type {import('../types.d.ts').Page<Refusals>} */ { data, next_cursor: next }) => [
      table('Refused before routing', refusalColumns(context, names), data, 'None was refused.'),
      next === null
        ? null
        : h('p', { class: 'muted small' }, `The newest ${refusalRows} rows; the API has the others.`),
    ],
  )
  return section(
    h('h2', {}, 'Refused before routing'),
    h(
      'p',
      { class: 'muted small' },
      'Requests that ended with an error before a model was called. They cost nothing, and are counted each minute by key and code.',
    ),
    body,
  )
}
