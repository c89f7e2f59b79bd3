// @ts-check
import { h } from '../dom.js'
import { localTime } from '../format.js'
import { chargeHref, heading, idLink, load, section, table, time, workspaceLink } from '../parts.js'
import { isOfAll } from '../session.js'

/** @typedef {import('../types.d.ts').Finding} Finding */

/** What each kind means, and what its amount is. */
const kinds = /** @type {const} */ ([
  [
    'open_request',
    'Requests without an end',
    'Routed, past their deadline, and without a recorded end. The amount is what was reserved.',
    'Reserved, USD',
  ],
  [
    'overdue_hold',
    'Holds past their deadline',
    'The scheduler releases them; one that stays here means that no scheduler runs.',
    'Left, USD',
  ],
  [
    'late_verdict',
    'Late verdicts',
    'The vendor reported the end of a video whose hold had ended. No wallet is charged.',
    'Would have cost, USD',
  ],
  [
    'estimated_charge',
    'Estimated charges',
    'Counted with a tokenizer, or as a video was held for, since the provider reported no usage.',
    'Charged, USD',
  ],
  [
    'implausible_usage',
    'Implausible usage',
    'More than any request to the model can have: the reservation is charged until an operator confirms it, by gateway findings confirm.',
    'Charged, USD',
  ],
  [
    'unpriced_tier',
    'Tiers without a price',
    'Served in a service tier or a region without a price of its own, and charged as the standard one.',
    'Charged, USD',
  ],
  [
    'implausible_deduction',
    'Implausible deductions',
    "Three times what was held, or not readable: the hold's figure is charged until an operator confirms it, by gateway findings confirm.",
    'Charged, USD',
  ],
  [
    'unknown_delivery',
    'Answers with unknown delivery',
    'Charged when the edge ended without a shutdown: they may not have reached their callers. gateway findings refund takes one back.',
    'Charged, USD',
  ],
  [
    'second_closing',
    'Second closings',
    'An end that came when the request had ended. It charges nothing.',
    'Not charged, USD',
  ],
  [
    'unrouted_closing',
    'Ends of requests that were never routed',
    'A bill without a request counts for nothing.',
    'Not charged, USD',
  ],
  ['adjustment', 'Corrections', 'Made by reconciliations, and for undelivered answers.', 'Amount, USD'],
])

/** @param {Finding} finding @param {import('../views.d.ts').ViewContext} context */
const idOf = ({ kind, id, workspace }, context) => {
  if (kind === 'adjustment' || kind === 'overdue_hold') return h('span', { class: 'id', title: id }, id)
  return idLink(id, isOfAll(context) ? chargeHref(workspace, id) : context.hrefTo('charges', id))
}

/** @param {Finding} finding */
const detailOf = ({ kind, detail, settled }) =>
  `${settled ? 'settled: ' : ''}${kind === 'open_request' ? `deadline ${localTime(detail)}` : detail}`

/** @type {import('../views.d.ts').View} */
export const findings = {
  name: 'findings',
  title: 'Exceptions',
  permission: 'read_money',
  show: (context) => {
    const { session, scope, root, signal } = context
    const body = h('div', { class: 'stack' })
    root.append(
      heading('Exceptions'),
      h(
        'p',
        { class: 'muted' },
        'Entries of the ledger that need attention. To compare it with an invoice: ',
        h('code', {}, 'gateway reconcile --provider … --file …'),
      ),
      body,
    )
    /** @param {{ data: Finding[], complete: boolean }} answer */
    const show = ({ data, complete }) => {
      if (data.length === 0)
        return [
          h(
            'p',
            { class: 'empty' },
            'Nothing was found: every request has its one end, no hold is overdue, nothing was estimated or corrected.',
          ),
        ]
      return [
        complete
          ? null
          : h('p', { class: 'notice' }, 'There are more than are shown here; gateway reconcile lists them all.'),
        ...kinds.flatMap(([kind, title, meaning, amount]) => {
          const some = data.filter((each) => each.kind === kind)
          if (some.length === 0) return []
          /** @type {import('../parts.js').Column<Finding>[]} */
          const columns = [
            { name: 'Time', cell: ({ at }) => time(at) },
            ...(isOfAll(context)
              ? [
                  {
                    name: 'Workspace',
                    cell: (/** @type {Finding} */ { workspace }) => workspaceLink(workspace, 'findings', new Map()),
                  },
                ]
              : []),
            { name: 'What', cell: (finding) => idOf(finding, context) },
            { name: 'Detail', cell: detailOf },
            { name: amount, cell: () => null, amount: (finding) => finding.amount },
          ]
          return [
            section(
              h('h2', {}, `${title} (${some.length})`),
              h('p', { class: 'muted small' }, meaning),
              table(title, columns, some),
            ),
          ]
        }),
      ]
    }
    void load(body, signal, () => session.ledger(scope, '/findings', {}, signal), show)
  },
}
