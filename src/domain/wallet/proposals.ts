import type { FactOf } from '../../events/envelope.ts'
import type { AdjustmentProposed } from '../../events/types.ts'
import type { WalletDraft } from './wallet.ts'

type ProposalFact = FactOf<'AdjustmentProposed' | 'AdjustmentApproved' | 'AdjustmentRejected'>

/** An adjustment that waits for another's approval, or was rejected: it is not proposed again. */
export interface Proposal extends AdjustmentProposed {
  readonly isRejected?: true
}

export const isOpen = ({ isRejected, expiresAt }: Proposal, nowMs: number): boolean =>
  isRejected !== true && Date.parse(expiresAt) > nowMs

/** Moves no money. An approved one ends with its AdjustmentPosted, in the same frame. */
export const applyProposal = ({ proposals }: Pick<WalletDraft, 'proposals'>, fact: ProposalFact): void => {
  const { adjustmentId } = fact.data
  if (fact.type === 'AdjustmentProposed') {
    proposals.set(adjustmentId, fact.data)
    return
  }
  const proposal = proposals.get(adjustmentId)
  if (fact.type === 'AdjustmentRejected' && proposal !== undefined)
    proposals.set(adjustmentId, { ...proposal, isRejected: true })
}
