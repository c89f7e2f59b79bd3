// @ts-check
import { ask } from '../dialogs.js'
import { h } from '../dom.js'
import { count, monthAfter } from '../format.js'
import { acknowledge, chargeHref, field, heading, idLink, load, section, state, table, usd } from '../parts.js'
import { readList } from '../session.js'
import { button, invoice, invoicesTable, previewInvoices } from './invoices.js'
import { showMonth, sumsTable } from './month.js'

/** @typedef {import('../types.d.ts').Period} Period */
/** @typedef {import('../types.d.ts').Report} Report */
/** @typedef {import('../types.d.ts').Unfinished} Unfinished */
/** @typedef {import('../types.d.ts').Invoice} Invoice */
/** @typedef {import('./invoices.js').Previewed} Previewed */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/** The one after the last that is closed; where none is, the last that is over.
 *
 * @param {readonly Period[]} periods in the order of their months
 */
const nextToClose = (periods) => {
  const last = periods.at(-1)
  if (last?.state === 'closing') return last.month
  return last === undefined ? monthAfter(new Date().toISOString(), -1) : monthAfter(last.month, 1)
}

/** What a month comes to before it is closed. @param {string} month @param {ViewContext} context */
const sums = (month, { session, signal }) => {
  const place = h('div')
  void load(
    place,
    signal,
    () => session.get('/admin/v1/reports', { month, group_by: 'workspace' }, signal),
    (/** @type {Report} */ { rows, total }) => [
      h('p', {}, `${workspacesText(rows.length)}, `, usd(total.net), ' USD in total.'),
      sumsTable(`Sums of ${month}`, rows, { cell: ({ group }) => group['workspace'] }),
    ],
  )
  return place
}

/** @param {number} number */
const workspacesText = (number) => `${count(number)} ${number === 1 ? 'workspace' : 'workspaces'}`

/** @param {string} month @param {readonly Unfinished[]} open @param {ViewContext} context @param {() => void} again */
const close = (month, open, context, again) => {
  const { session } = context
  const anyway = h('input', { type: 'checkbox', required: open.length > 0 })
  ask({
    title: `Close ${month}?`,
    body: [
      h('p', {}, 'Its statements are final then: what comes later is posted in the next month.'),
      sums(month, context),
      open.length === 0 ? null : field(`Close it with ${open.length} open entries`, anyway),
    ],
    confirm: 'Close the month',
    work: async () => {
      await session.change('POST', `/admin/v1/periods/${month}/close`, { with_exceptions: anyway.checked })
      acknowledge(`${month} closed.`)
      again()
    },
  })
}

/** @param {string} month @param {ViewContext} context @param {() => void} again */
const reopen = (month, { session }, again) => {
  const reason = h('input', { type: 'text', required: true, maxlength: 200, autocomplete: 'off' })
  ask({
    title: `Reopen ${month}?`,
    body: [field('Reason', reason, 'It is kept in the log.')],
    confirm: 'Reopen the month',
    isDangerous: true,
    work: async () => {
      await session.change('POST', `/admin/v1/periods/${month}/reopen`, { reason: reason.value.trim() })
      again()
    },
  })
}

/** `2026-12-01 00:10 UTC` @param {string} iso */
const minuteText = (iso) => `${iso.slice(0, 16).replace('T', ' ')} UTC`

/** Disabled until the month can be closed, with the moment. @param {Period} period @param {() => void} click */
const closeButton = ({ month, closable_from: from }, click) => {
  const isEarly = Date.now() < Date.parse(from)
  const closing = h(
    'button',
    {
      type: 'button',
      class: 'primary',
      'data-operation': 'POST /admin/v1/periods/{id}/close',
      disabled: isEarly,
      'aria-describedby': isEarly ? 'closable-from' : null,
      click,
    },
    `Close ${month}`,
  )
  return h(
    'p',
    { class: 'buttons start' },
    closing,
    isEarly ? h('small', { id: 'closable-from', class: 'muted' }, `From ${minuteText(from)} on.`) : null,
  )
}

/** @param {readonly Unfinished[]} open */
const checklist = (open) => {
  if (open.length === 0) return h('p', {}, state('nothing is open', 'good'), ' No request, no video, no exception.')
  return table(
    'What is open',
    /** @type {import('../parts.js').Column<Unfinished>[]} */ ([
      { name: 'What', cell: ({ kind }) => kind },
      {
        name: 'Workspace',
        cell: ({ workspace }) => h('a', { href: `#/w/${encodeURIComponent(workspace)}/findings` }, workspace),
      },
      { name: 'Id', cell: ({ workspace, id }) => idLink(id, chargeHref(workspace, id)) },
    ]),
    open,
  )
}

/** @param {readonly Period[]} periods @param {Previewed | null} previewed what is left to invoice of the last @param {ViewContext} context @param {() => void} again */
const periodsTable = (periods, previewed, context, again) => {
  const mayMove = context.session.may('move_money')
  const last = periods.at(-1)
  return table(
    'Closed months',
    /** @type {import('../parts.js').Column<Period>[]} */ ([
      { name: 'Month (UTC)', cell: ({ month }) => h('a', { href: context.hrefTo('months', month) }, month) },
      { name: 'State', cell: (period) => state(period.state, period.state === 'closed' ? 'good' : 'busy') },
      { name: 'Charges, USD', cell: () => null, amount: ({ totals }) => totals?.charges ?? '0' },
      { name: 'Corrections, USD', cell: () => null, amount: ({ totals }) => totals?.corrections ?? '0' },
      { name: 'Fees, USD', cell: () => null, amount: ({ totals }) => totals?.fees ?? '0' },
      { name: 'Open when closed', numeric: true, cell: ({ exceptions }) => String(exceptions ?? '') },
      {
        name: 'Digest',
        cell: ({ digest }) => h('span', { class: 'id', title: digest ?? '' }, (digest ?? '').slice(0, 12)),
      },
      ...(mayMove
        ? [
            {
              name: 'Change',
              cell: (/** @type {Period} */ period) =>
                h(
                  'span',
                  { class: 'buttons' },
                  period.state === 'closed'
                    ? button(
                        `Invoice ${period.month}`,
                        'Invoice',
                        () => invoice(period.month, context, again),
                        'POST /admin/v1/invoices',
                        previewed?.due === null || period === last ? (previewed?.refusal ?? null) : null,
                      )
                    : null,
                  period === last
                    ? button(
                        `Reopen ${period.month}`,
                        'Reopen',
                        () => reopen(period.month, context, again),
                        'POST /admin/v1/periods/{id}/reopen',
                      )
                    : null,
                ),
            },
          ]
        : []),
    ]),
    periods.toReversed(),
    'No month is closed yet.',
  )
}

/** @type {import('../views.d.ts').View} */
export const months = {
  name: 'months',
  title: 'Months',
  permission: 'read_money',
  show: (context) => {
    if (context.parameter !== '') {
      showMonth(context)
      return
    }
    const { session, root, signal } = context
    const body = h('div', { class: 'stack' })
    root.append(heading('Months'), body)
    const read = async () => {
      /** @type {{ data: Period[] }} */
      const { data: periods } = await session.get('/admin/v1/periods', {}, signal)
      /** @type {Period} */
      const next = await session.get(`/admin/v1/periods/${nextToClose(periods)}`, {}, signal)
      const { month } = next
      /** @type {{ data: Unfinished[] }} */
      const { data: open } = await session.get(`/admin/v1/periods/${month}/unfinished`, {}, signal)
      const invoices = /** @type {Invoice[]} */ (await readList(session, '/admin/v1/invoices', signal))
      const last = periods.at(-1)
      const previewed =
        last?.state === 'closed' && session.may('move_money') ? await previewInvoices(last.month, context) : null
      return { periods, next, open, invoices, previewed }
    }
    const again = () => void load(body, signal, read, show)
    /** @param {Awaited<ReturnType<typeof read>>} answer */
    const show = ({ periods, next, open, invoices, previewed }) => [
      section(
        h('h2', {}, `${next.month}, the next to close`),
        checklist(open),
        ...(session.may('move_money') ? [closeButton(next, () => close(next.month, open, context, again))] : []),
      ),
      section(
        h('h2', {}, 'Closed months'),
        previewed === null || previewed.refusal === null ? null : h('p', { class: 'muted small' }, previewed.refusal),
        periodsTable(periods, previewed, context, again),
      ),
      section(h('h2', {}, 'Invoices'), invoicesTable(invoices, context)),
    ]
    again()
  },
}
