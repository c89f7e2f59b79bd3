// @ts-check
import { h } from '../dom.js'
import { operationButton } from '../operations.js'
import { section, table, time } from '../parts.js'
import { readList } from '../session.js'

/** @typedef {import('../types.d.ts').Proposal} Proposal */

/** Adjustments that wait for another administrator; shown where there are any.
 *
 * @param {import('../views.d.ts').ViewContext} context
 * @param {{ workspace?: string, done?: () => void, load: import('../refresh.js').Load }} options all, where there is no `workspace`; `done` is called after one was posted or rejected
 */
export const proposals = ({ session, signal }, { workspace, done, load }) => {
  const root = h('div')
  const show = () =>
    load(
      root,
      signal,
      () => readList(session, '/admin/v1/proposals', signal, workspace === undefined ? {} : { workspace }),
      (/** @type {Proposal[]} */ all) =>
        all.length === 0 ? [] : [section(h('h2', {}, 'Adjustments that wait for approval'), proposalsTable(all))],
    )
  /** @param {Proposal} proposal @param {'approve' | 'reject'} verb */
  const button = ({ workspace: id, reference, amount, proposed_by }, verb) => {
    const isOwn = proposed_by === session.actor
    if (isOwn && verb === 'approve') return null
    const label = verb === 'approve' ? 'Approve' : isOwn ? 'Withdraw' : 'Reject'
    return operationButton(session, {
      operation: `POST /admin/v1/workspaces/{id}/adjustments/{key}/${verb}`,
      ids: { id, key: reference },
      permission: 'move_money',
      label,
      title: `${label} ${reference}`,
      about: `${amount} USD for ${id}, proposed by ${proposed_by}.`,
      isDangerous: verb === 'reject',
      done: done ?? show,
    })
  }
  /** @param {Proposal[]} all */
  const proposalsTable = (all) =>
    table(
      'Adjustments that wait for approval',
      /** @type {import('../parts.js').Column<Proposal>[]} */ ([
        {
          name: 'Workspace',
          className: 'name',
          cell: (proposal) =>
            h('a', { href: `#/w/${encodeURIComponent(proposal.workspace)}/account` }, proposal.workspace),
        },
        { name: 'Amount, USD', cell: () => null, amount: ({ amount }) => amount },
        { name: 'Reason', cell: ({ reason }) => reason },
        { name: 'Reference', cell: ({ reference }) => h('span', { class: 'id' }, reference) },
        { name: 'Corrects', cell: ({ of }) => h('span', { class: 'id', title: of ?? '' }, of ?? '') },
        { name: 'Note', cell: ({ note }) => note },
        { name: 'Proposed by', cell: ({ proposed_by }) => proposed_by },
        { name: 'Until', cell: ({ expires_at }) => time(expires_at) },
        {
          name: 'Decide',
          cell: (proposal) => h('span', { class: 'buttons' }, button(proposal, 'approve'), button(proposal, 'reject')),
        },
      ]),
      all,
    )
  show()
  return root
}
