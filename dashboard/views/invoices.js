// @ts-check
import { ask } from '../dialogs.js'
import { h } from '../dom.js'
import { download } from '../export.js'
import { count, sumOf } from '../format.js'
import { acknowledge, load, table, usd } from '../parts.js'
import { ApiError } from '../session.js'

/** @typedef {import('../types.d.ts').Invoice} Invoice */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/** An issue ends after so many invoices, and the next one goes on. */
const invoicesPerCall = 500

/** `due` is null where it is not known; `refusal` is why nothing can be issued. @typedef {{ due: Invoice[] | null, refusal: string | null }} Previewed */

/** What would be issued for a month.
 *
 * @param {string} month
 * @param {ViewContext} context
 * @returns {Promise<Previewed>}
 */
export const previewInvoices = async (month, { session }) => {
  try {
    /** @type {{ data: Invoice[] }} */
    const { data } = await session.change('POST', '/admin/v1/invoices', { month, dry_run: true })
    return { due: data, refusal: data.length === 0 ? `Nothing of ${month} is left to invoice.` : null }
  } catch (fault) {
    return { due: null, refusal: fault instanceof ApiError && fault.status === 409 ? fault.message : null }
  }
}

/** @param {readonly Invoice[]} due */
const dueText = (due) =>
  `${due.length < invoicesPerCall ? '' : 'At least '}${count(due.length)} ${due.length === 1 ? 'invoice' : 'invoices'}: `

/** @param {string} month @param {ViewContext} context @param {() => void} again */
export const invoice = (month, context, again) => {
  const place = h('div')
  void load(
    place,
    context.signal,
    () => previewInvoices(month, context),
    ({ due, refusal }) => [
      refusal === null ? null : h('p', { class: 'notice' }, refusal),
      due === null || due.length === 0
        ? null
        : h(
            'p',
            {},
            dueText(due),
            usd(sumOf(due.map(({ net }) => net))),
            ' USD net, ',
            usd(sumOf(due.map(({ gross }) => gross))),
            ' USD with tax.',
          ),
    ],
  )
  ask({
    title: `Invoice ${month}?`,
    body: [
      h('p', {}, 'Every workspace gets an invoice for what is not invoiced yet. An invoice cannot be withdrawn.'),
      place,
    ],
    confirm: 'Issue the invoices',
    work: async () => {
      /** @type {{ data: Invoice[] }} */
      let issued
      do issued = await context.session.change('POST', '/admin/v1/invoices', { month })
      while (issued.data.length > 0)
      again()
    },
  })
}

/** @param {string} label @param {string} text @param {() => void} click @param {string} operation @param {string | null} [refusal] why it is disabled */
export const button = (label, text, click, operation, refusal = null) =>
  h(
    'button',
    {
      ...{ type: 'button', 'aria-label': label, 'data-operation': operation, click },
      ...{ disabled: refusal !== null, title: refusal },
    },
    text,
  )

/** @param {readonly Invoice[]} invoices @param {ViewContext} context */
export const invoicesTable = (invoices, { session }) => {
  /** @param {string} id */
  const save = async (id) => {
    const path = `/admin/v1/invoices/${encodeURIComponent(id)}/document`
    try {
      download([await session.text(path)], 'text/html', `${id}.html`)
      acknowledge('')
    } catch (fault) {
      acknowledge(`${id} cannot be saved: ${fault instanceof ApiError ? fault.message : 'the page failed.'}`)
    }
  }
  return table(
    'Invoices',
    /** @type {import('../parts.js').Column<Invoice>[]} */ ([
      {
        name: 'Number',
        cell: ({ id }) => button(`Save ${id}`, id, () => void save(id), 'GET /admin/v1/invoices/{id}/document'),
      },
      { name: 'Date (UTC)', cell: ({ issued_on }) => issued_on },
      {
        name: 'Kind',
        cell: ({ kind, corrects }) =>
          (kind === 'invoice' ? 'Invoice' : 'Credit note') + (corrects === null ? '' : ` to ${corrects}`),
      },
      { name: 'Workspace', cell: ({ workspace }) => workspace },
      { name: 'Month (UTC)', cell: ({ month }) => month },
      { name: 'Net, USD', cell: () => null, amount: ({ net }) => net },
      { name: 'Tax, USD', cell: () => null, amount: ({ tax }) => tax },
      { name: 'Total, USD', cell: () => null, amount: ({ gross }) => gross },
    ]),
    invoices,
    'No invoice yet: a closed month can be invoiced.',
  )
}
