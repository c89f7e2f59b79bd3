// @ts-check
import { h, replace } from '../dom.js'
import { download } from '../export.js'
import { count } from '../format.js'
import { errorPanel } from '../parts.js'

/** Where the log has it, and the file that proves it.
 *
 * @param {import('../types.d.ts').Explanation} explanation
 * @param {import('../views.d.ts').ViewContext} context
 */
export const proof = ({ id, charge, proof: { sequence, checkpoint, command } }, { session, scope, signal }) => {
  const what = charge === null ? 'record' : 'charge'
  const explanation = h('div', { 'aria-live': 'polite' })
  const fetchProof = async () => {
    try {
      const file = await session.ledger(scope, `/charges/${encodeURIComponent(id)}/proof`, {}, signal)
      download([`${JSON.stringify(file, null, 1)}\n`], 'application/json', `${id}.proof.json`)
      replace(
        explanation,
        h(
          'p',
          { class: 'muted' },
          'Check it with the public key alone: ',
          h('code', {}, 'gateway verify --proof FILE --public-key KEY'),
        ),
      )
    } catch (fault) {
      replace(explanation, errorPanel(fault, null))
    }
  }
  return [
    h(
      'p',
      {},
      checkpoint === null
        ? `No checkpoint seals the ${what} yet: one does within a second.`
        : session.isAdmin
          ? `The ${what} is in frame ${count(sequence)}, sealed by the checkpoint over the first ${count(checkpoint.size)} frames.`
          : `The ${what} is sealed by a checkpoint.`,
    ),
    h(
      'p',
      {},
      h('button', { type: 'button', click: () => void fetchProof() }, 'Download the proof'),
      ' ',
      h('span', { class: 'muted' }, 'or ', h('code', {}, command)),
    ),
    explanation,
  ]
}
