import type { AdjustmentPosted, AdjustmentProposed } from '../../events/types.ts'
import { formatUsd, maxOf, parseUsd } from '../money.ts'
import { adjustmentKey, correctedPicos, findReversal, namesCredit, type WalletFact } from './evolve.ts'
import { isOpen } from './proposals.ts'
import type { WalletDraft } from './wallet.ts'

/** The reasons of an operator, with the side on which each puts money; null: either. */
export const operatorReasons = {
  refund: 'credit',
  goodwill: 'credit',
  'write-off': 'credit',
  chargeback: 'debit',
  correction: null,
} as const satisfies { readonly [R in AdjustmentPosted['reason']]?: 'credit' | 'debit' | null }

export interface AdjustCommand {
  readonly type: 'Adjust'
  /** Above zero gives money back, below zero takes it. */
  readonly amountPicos: bigint
  readonly reason: AdjustmentProposed['reason']
  /** The operator's own: the same reference adjusts once. */
  readonly reference: string
  /** A request or task, an adjustment, or `credit:` and the reference of a credit. Absent: nothing in particular. */
  readonly corrects?: string | undefined
  /** Of the request or task that it corrects, after reversals of its corrections. */
  readonly chargedPicos?: bigint | undefined
  readonly note: string
  readonly by?: string | undefined
  readonly nowMs: number
  /** It is only proposed, for another to approve until then. Absent: it is posted. */
  readonly proposedUntilMs?: number | undefined
}

export interface EndProposalCommand {
  readonly type: 'ApproveAdjustment' | 'RejectAdjustment'
  readonly adjustmentId: string
  /** Of the request or task that an approved one corrects. */
  readonly chargedPicos?: bigint | undefined
  readonly by?: string | undefined
  readonly nowMs: number
}

interface CorrectChargeCommand {
  readonly type: 'CorrectCharge'
  readonly adjustment: AdjustmentPosted
  /** After reversals of its corrections. */
  readonly chargedPicos: bigint
  /** What its corrections had given back when the adjustment was computed. */
  readonly correctedPicos: bigint
}

export type AdjustmentRefusal =
  | { readonly reason: 'adjustment_differs'; readonly postedPicos: bigint }
  | { readonly reason: 'credit_unknown' }
  /** `leftPicos` is what may still be reversed, with the sign of the reversal. */
  | { readonly reason: 'reversal_exceeds'; readonly leftPicos: bigint }
  | { readonly reason: 'charge_exceeded'; readonly leftPicos: bigint }
  | { readonly reason: 'charge_corrected' }
  /** Since the correction was proposed. */
  | { readonly reason: 'charge_changed'; readonly beforePicos: bigint; readonly nowPicos: bigint }
  | { readonly reason: 'proposal_differs'; readonly proposedPicos: bigint }
  | { readonly reason: 'proposal_unknown' | 'proposal_rejected' | 'proposal_expired' | 'proposal_approved' }
  | { readonly reason: 'proposal_own'; readonly by: string }

type AdjustmentDecision = { readonly facts: readonly WalletFact[] } | { readonly refused: AdjustmentRefusal }

export const operatorPrefix = 'operator:'

/** Whether an adjustment is only proposed, for another to approve. `abovePicos` null: none is. */
export const needsApproval = (amountPicos: bigint, abovePicos: bigint | null): boolean =>
  abovePicos !== null && (amountPicos > abovePicos || amountPicos < -abovePicos)

/** Who cannot be named is one and the same: none of them approves what another one proposed. */
const unnamed = 'unknown'

const exceeds = (amountPicos: bigint, leftPicos: bigint): boolean =>
  leftPicos < 0n ? amountPicos > 0n || amountPicos < leftPicos : amountPicos < 0n || amountPicos > leftPicos

type Correction = Pick<AdjustCommand, 'amountPicos' | 'corrects' | 'chargedPicos'> & {
  readonly reason: AdjustmentPosted['reason']
}

const boundReasons: ReadonlySet<AdjustmentPosted['reason']> = new Set(['refund', 'correction', 'undelivered'])

const netPicos = (
  { chargedPicos = 0n, corrects = '' }: Pick<AdjustCommand, 'chargedPicos' | 'corrects'>,
  wallet: WalletDraft,
): bigint => chargedPicos - correctedPicos(wallet, corrects)

/** A refund or a correction of a charge gives back at most what is left of it; what goes beyond is goodwill. */
const findExcess = (correction: Correction, wallet: WalletDraft): AdjustmentRefusal | null => {
  const { amountPicos, reason } = correction
  const leftPicos = maxOf(0n, netPicos(correction, wallet))
  return boundReasons.has(reason) && amountPicos > leftPicos ? { reason: 'charge_exceeded', leftPicos } : null
}

/** A credit or an adjustment is reversed at most whole, in one reversal or in many. */
const findRefusal = (correction: Correction, wallet: WalletDraft): AdjustmentRefusal | null => {
  const { corrects, amountPicos } = correction
  if (corrects === undefined) return null
  const reversal = findReversal(wallet, corrects)
  if (reversal === null) return namesCredit(corrects) ? { reason: 'credit_unknown' } : findExcess(correction, wallet)
  const leftPicos = -reversal.amountPicos - reversal.reversedPicos
  return exceeds(amountPicos, leftPicos) ? { reason: 'reversal_exceeds', leftPicos } : null
}

const findPosted = (adjustmentId: string, amountPicos: bigint, wallet: WalletDraft): AdjustmentDecision | null => {
  const postedPicos = wallet.references.get(adjustmentKey(adjustmentId))
  if (postedPicos === undefined) return null
  return postedPicos === amountPicos ? { facts: [] } : { refused: { reason: 'adjustment_differs', postedPicos } }
}

/** What the reference was used for before: facts where that is the same; null for a fresh one. */
const findEarlier = (
  { amountPicos, nowMs }: AdjustCommand,
  adjustmentId: string,
  wallet: WalletDraft,
): AdjustmentDecision | null => {
  const posted = findPosted(adjustmentId, amountPicos, wallet)
  if (posted !== null) return posted
  const proposal = wallet.proposals.get(adjustmentId)
  if (proposal?.isRejected === true) return { refused: { reason: 'proposal_rejected' } }
  if (proposal === undefined || !isOpen(proposal, nowMs)) return null
  const proposedPicos = parseUsd(proposal.amount)
  return proposedPicos === amountPicos ? { facts: [] } : { refused: { reason: 'proposal_differs', proposedPicos } }
}

/** A correction of a charge's figure, which another correction makes wrong. */
const isOfFigure = ({ reason, chargedPicos }: AdjustCommand): boolean =>
  reason === 'correction' && chargedPicos !== undefined

/** Adds nothing where the reference has adjusted the same amount before, or has it proposed. */
const adjust = (command: AdjustCommand, wallet: WalletDraft): AdjustmentDecision => {
  const { amountPicos, reason, reference, corrects, note, by, proposedUntilMs } = command
  const adjustmentId = `${operatorPrefix}${reference}`
  const earlier = findEarlier(command, adjustmentId, wallet)
  if (earlier !== null) return earlier
  const refused = findRefusal(command, wallet)
  if (refused !== null) return { refused }
  const named = corrects === undefined ? {} : { corrects }
  const amount = formatUsd(amountPicos)
  const data = { adjustmentId, workspaceId: wallet.workspaceId, amount, reason, note, reference, ...named }
  if (proposedUntilMs === undefined)
    return { facts: [{ type: 'AdjustmentPosted', data: { ...data, ...(by === undefined ? {} : { by }) } }] }
  const expiresAt = new Date(proposedUntilMs).toISOString()
  const seen = isOfFigure(command) ? { charged: formatUsd(netPicos(command, wallet)) } : {}
  return { facts: [{ type: 'AdjustmentProposed', data: { ...data, ...seen, by: by ?? unnamed, expiresAt } }] }
}

const correctCharge = (command: CorrectChargeCommand, wallet: WalletDraft): AdjustmentDecision => {
  const { adjustment, chargedPicos } = command
  const amountPicos = parseUsd(adjustment.amount)
  const posted = findPosted(adjustment.adjustmentId, amountPicos, wallet)
  if (posted !== null) return posted
  if (correctedPicos(wallet, adjustment.corrects ?? '') !== command.correctedPicos)
    return { refused: { reason: 'charge_corrected' } }
  const refused = findRefusal({ ...adjustment, amountPicos, chargedPicos }, wallet)
  return refused === null ? { facts: [{ type: 'AdjustmentPosted', data: adjustment }] } : { refused }
}

/** Adds nothing where it ended so before. The adjustment is its proposer's; its event's actor is who approved it. */
const endProposal = (command: EndProposalCommand, wallet: WalletDraft): AdjustmentDecision => {
  const { type, adjustmentId, chargedPicos, by = unnamed, nowMs } = command
  const approves = type === 'ApproveAdjustment'
  const { workspaceId } = wallet
  if (wallet.references.has(adjustmentKey(adjustmentId)))
    return approves ? { facts: [] } : { refused: { reason: 'proposal_approved' } }
  const proposal = wallet.proposals.get(adjustmentId)
  if (proposal === undefined) return { refused: { reason: 'proposal_unknown' } }
  const { isRejected = false, expiresAt, charged, ...proposed } = proposal
  if (isRejected) return approves ? { refused: { reason: 'proposal_rejected' } } : { facts: [] }
  if (!approves) return { facts: [{ type: 'AdjustmentRejected', data: { adjustmentId, workspaceId, by } }] }
  if (!isOpen(proposal, nowMs)) return { refused: { reason: 'proposal_expired' } }
  if (proposed.by === by) return { refused: { reason: 'proposal_own', by } }
  const nowPicos = netPicos({ chargedPicos, corrects: proposed.corrects }, wallet)
  if (charged !== undefined && parseUsd(charged) !== nowPicos)
    return { refused: { reason: 'charge_changed', beforePicos: parseUsd(charged), nowPicos } }
  const refused = findRefusal({ ...proposed, amountPicos: parseUsd(proposed.amount), chargedPicos }, wallet)
  if (refused !== null) return { refused }
  return {
    facts: [
      { type: 'AdjustmentApproved', data: { adjustmentId, workspaceId, by } },
      { type: 'AdjustmentPosted', data: proposed },
    ],
  }
}

export const decideAdjustment = (
  command: AdjustCommand | EndProposalCommand | CorrectChargeCommand,
  wallet: WalletDraft,
): AdjustmentDecision => {
  switch (command.type) {
    case 'Adjust':
      return adjust(command, wallet)
    case 'CorrectCharge':
      return correctCharge(command, wallet)
    case 'ApproveAdjustment':
    case 'RejectAdjustment':
      return endProposal(command, wallet)
  }
}
