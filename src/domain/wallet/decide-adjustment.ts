import type { AdjustmentPosted } from '../../events/types.ts'
import { formatUsd } from '../money.ts'
import { adjustmentKey, findReversal, namesCredit, type WalletFact } from './evolve.ts'
import type { WalletDraft } from './wallet.ts'

/** The reasons of an operator, with the side on which each puts money; null: either. */
export const operatorReasons = {
  refund: 'credit',
  goodwill: 'credit',
  'write-off': 'credit',
  chargeback: 'debit',
  correction: null,
} as const satisfies { readonly [R in AdjustmentPosted['reason']]?: 'credit' | 'debit' | null }

type OperatorReason = keyof typeof operatorReasons

export interface AdjustCommand {
  readonly type: 'Adjust'
  /** Above zero gives money back, below zero takes it. */
  readonly amountPicos: bigint
  readonly reason: OperatorReason
  /** The operator's own: the same reference adjusts once. */
  readonly reference: string
  /** A request or task, an adjustment, or `credit:` and the reference of a credit. Absent: nothing in particular. */
  readonly corrects?: string | undefined
  readonly note: string
  readonly by?: string | undefined
}

export type AdjustmentRefusal =
  | { readonly reason: 'adjustment_differs'; readonly postedPicos: bigint }
  | { readonly reason: 'credit_unknown' }
  /** `leftPicos` is what may still be reversed, with the sign of the reversal. */
  | { readonly reason: 'reversal_exceeds'; readonly leftPicos: bigint }

export const operatorPrefix = 'operator:'

const exceeds = (amountPicos: bigint, leftPicos: bigint): boolean =>
  leftPicos < 0n ? amountPicos > 0n || amountPicos < leftPicos : amountPicos < 0n || amountPicos > leftPicos

/** A credit or an adjustment is reversed at most whole, in one reversal or in many. */
const findRefusal = ({ corrects, amountPicos }: AdjustCommand, wallet: WalletDraft): AdjustmentRefusal | null => {
  if (corrects === undefined) return null
  const reversal = findReversal(wallet, corrects)
  if (reversal === null) return namesCredit(corrects) ? { reason: 'credit_unknown' } : null
  const leftPicos = -reversal.amountPicos - reversal.reversedPicos
  return exceeds(amountPicos, leftPicos) ? { reason: 'reversal_exceeds', leftPicos } : null
}

/** Adds nothing where the reference has adjusted the same amount before. */
export const decideAdjustment = (
  command: AdjustCommand,
  wallet: WalletDraft,
): { readonly facts: readonly WalletFact[] } | { readonly refused: AdjustmentRefusal } => {
  const { amountPicos, reason, reference, corrects, note, by } = command
  const adjustmentId = `${operatorPrefix}${reference}`
  const postedPicos = wallet.references.get(adjustmentKey(adjustmentId))
  if (postedPicos === amountPicos) return { facts: [] }
  if (postedPicos !== undefined) return { refused: { reason: 'adjustment_differs', postedPicos } }
  const refused = findRefusal(command, wallet)
  if (refused !== null) return { refused }
  const { workspaceId } = wallet
  const named = { ...(corrects === undefined ? {} : { corrects }), ...(by === undefined ? {} : { by }) }
  const amount = formatUsd(amountPicos)
  return {
    facts: [
      { type: 'AdjustmentPosted', data: { adjustmentId, workspaceId, amount, reason, note, reference, ...named } },
    ],
  }
}
