// @ts-check
import { h } from '../dom.js'
import { operationButton } from '../operations.js'
import { acknowledge, heading, load, state, table } from '../parts.js'
import { readList } from '../session.js'

/** @typedef {import('../types.d.ts').Workspace} Workspace */

/** @type {import('../parts.js').Column<Workspace>[]} */
const walletColumns = [
  { name: 'Available, USD', cell: () => null, amount: ({ available = '' }) => available },
  { name: 'Balance, USD', cell: () => null, amount: ({ balance = '' }) => balance },
  { name: 'Held, USD', cell: () => null, amount: ({ held = '' }) => held },
  { name: 'Credit limit, USD', cell: () => null, amount: ({ credit_limit = '' }) => credit_limit },
]

/** @type {import('../views.d.ts').View} */
export const workspaces = {
  name: 'workspaces',
  title: 'Workspaces',
  permission: 'read',
  show: ({ session, root, signal }) => {
    const body = h('div')
    root.append(
      heading(
        'Workspaces',
        operationButton(session, {
          operation: 'POST /admin/v1/workspaces',
          permission: 'configure',
          label: 'Open a workspace',
          isPrimary: true,
          fixed: session.may('move_money') ? [] : ['credit_limit'],
          done: ({ id }) => {
            location.hash = `#/w/${encodeURIComponent(String(id))}/keys`
            addEventListener('hashchange', () => acknowledge(`Workspace ${id} opened.`), { once: true })
          },
        }),
      ),
      body,
    )
    void load(
      body,
      signal,
      () => readList(session, '/admin/v1/workspaces', signal),
      (/** @type {Workspace[]} */ all) => [
        table(
          'Every workspace with its wallet',
          /** @type {import('../parts.js').Column<Workspace>[]} */ ([
            {
              name: 'Workspace',
              className: 'name',
              cell: ({ id, name }) => h('a', { href: `#/w/${encodeURIComponent(id)}` }, name),
            },
            { name: 'Id', cell: ({ id }) => h('span', { class: 'id' }, id) },
            { name: 'State', cell: ({ status }) => state(status, status === 'open' ? 'good' : 'plain') },
            ...(session.may('read_money') ? walletColumns : []),
          ]),
          all,
          'No workspace is open yet. Open the first one, then issue a key for it.',
        ),
      ],
    )
  },
}
