// @ts-check
import { h } from '../dom.js'
import { words } from '../format.js'
import { operationButton } from '../operations.js'
import { heading, load, table } from '../parts.js'
import { readList } from '../session.js'
import { limitsText } from './limits.js'

/** @typedef {import('../types.d.ts').Plan} Plan */

/** @type {import('../views.d.ts').View} */
export const plans = {
  name: 'plans',
  title: 'Plans',
  permission: 'read',
  show: ({ session, root, signal }) => {
    const body = h('div')
    const operation = /** @type {const} */ ('PUT /admin/v1/plans/{id}')
    const again = () =>
      void load(
        body,
        signal,
        () => readList(session, '/admin/v1/plans', signal),
        (/** @type {Plan[]} */ found) => [
          table(
            'Plans',
            /** @type {import('../parts.js').Column<Plan>[]} */ ([
              { name: 'Plan', className: 'name', cell: ({ name }) => name },
              { name: 'Id', cell: ({ id }) => h('code', {}, id) },
              { name: 'Fee, USD', cell: () => null, amount: ({ price }) => price },
              { name: 'Of a', cell: ({ period }) => words(period) },
              { name: 'Credit, USD', cell: () => null, amount: ({ included_credit }) => included_credit },
              { name: 'Limits', className: 'wrap', cell: ({ limits }) => limitsText(limits) },
              {
                name: 'Change',
                cell: ({ id, name, price, period, included_credit, limits }) =>
                  operationButton(session, {
                    operation,
                    ids: { id },
                    permission: 'configure',
                    label: 'Change',
                    title: `Change ${name}`,
                    values: { name, price, period, included_credit, limits },
                    done: again,
                  }),
              },
            ]),
            found,
            'No plan yet. A plan has a fee for each month or year, the credit that it includes, and limits. Publish one, then give it to a workspace on its account.',
          ),
        ],
      )
    root.append(
      heading(
        'Plans',
        operationButton(session, {
          operation,
          permission: 'configure',
          label: 'Publish a plan',
          isPrimary: true,
          done: again,
        }),
      ),
      body,
    )
    again()
  },
}
