import { findOrCreateWallet } from '../domain/ledger/ledger.ts'
import { formatUsd } from '../domain/money.ts'
import {
  type AdjustCommand,
  type AdjustmentRefusal,
  type EndProposalCommand,
  needsApproval,
  operatorPrefix,
  operatorReasons,
} from '../domain/wallet/decide-adjustment.ts'
import { creditKey, findReversal, namesCredit } from '../domain/wallet/evolve.ts'
import { GatewayError, invalidValue } from '../errors/gateway-error.ts'
import type { EdgeReadModels } from '../read-api/read-models.ts'
import { fromTables } from '../read-api/read-tables.ts'
import type { Clock } from '../runtime/clock.ts'
import { type AdminContext, requireWorkspace, walletHandlerOf } from './admin-context.ts'
import { administrationLimits } from './limits.ts'

type Adjustment = Omit<AdjustCommand, 'type' | 'by' | 'nowMs' | 'proposedUntilMs' | 'chargedPicos'>

interface AdjustContext extends AdminContext {
  readonly readModels: Pick<EdgeReadModels, 'findTrace'>
  readonly approvalAbovePicos: () => bigint | null
  readonly clock: Clock
}

/** Throws `invalid_value` for an amount that its reason does not allow. */
export const requireAmount = ({ amountPicos, reason }: Pick<Adjustment, 'amountPicos' | 'reason'>): void => {
  const side = operatorReasons[reason]
  if (amountPicos === 0n) throw invalidValue('amount', 'must not be zero')
  if (side === 'credit' && amountPicos < 0n)
    throw invalidValue('amount', `a ${reason} gives money back, so it is above zero`)
  if (side === 'debit' && amountPicos > 0n) throw invalidValue('amount', `a ${reason} takes money, so it is below zero`)
}

/**
 * Of a request or a task, which the tables know, after reversals of its corrections: what was refunded and taken back can be
 * refunded again. A credit and an adjustment are known to the wallet, which decides on them.
 * Throws `invalid_value` for what is none of them.
 */
const findChargedPicos = async (
  { tail, readModels }: AdjustContext,
  workspaceId: string,
  corrects: string | undefined,
): Promise<bigint | undefined> => {
  if (corrects === undefined) return undefined
  const wallet = findOrCreateWallet(tail.ledger, workspaceId)
  if (namesCredit(corrects) || findReversal(wallet, corrects) !== null) return undefined
  const { value: trace } = await fromTables(readModels.findTrace(corrects))
  if (trace?.workspaceId === workspaceId)
    return trace.movements.reduce((sum, { kind, reference, amountPicos }) => {
      if (kind === 'adjustment') return sum - (findReversal(wallet, reference)?.reversedPicos ?? 0n)
      return kind === 'charge' || kind === 'excess' ? sum - amountPicos : sum
    }, 0n)
  const meant = [`${operatorPrefix}${corrects}`, creditKey(corrects)].find((id) => findReversal(wallet, id) !== null)
  const hint = meant === undefined ? '' : `; it has ${meant}`
  throw invalidValue('of', `${workspaceId} has no request, task or adjustment with the id ${corrects}${hint}`)
}

interface RefusedAdjustment {
  readonly workspaceId: string
  readonly reference: string
  readonly corrects?: string | undefined
}

const conflict = (message: string): GatewayError => new GatewayError('conflict', message, { param: 'reference' })

const refusalOf = (
  refused: AdjustmentRefusal,
  { workspaceId, reference, corrects = 'what it corrects' }: RefusedAdjustment,
): GatewayError => {
  switch (refused.reason) {
    case 'adjustment_differs':
      return conflict(`The reference ${reference} has posted ${formatUsd(refused.postedPicos)} USD before.`)
    case 'proposal_differs':
      return conflict(`The reference ${reference} has ${formatUsd(refused.proposedPicos)} USD proposed.`)
    case 'proposal_rejected':
      return conflict(`The adjustment ${reference} was rejected: propose it with another reference.`)
    case 'proposal_expired':
      return conflict(`The proposal ${reference} has expired: propose it again.`)
    case 'proposal_approved':
      return conflict(`The adjustment ${reference} is posted: reverse it by another one.`)
    case 'proposal_unknown':
      return new GatewayError('not_found', `${workspaceId} has no proposed adjustment with the reference ${reference}.`)
    case 'proposal_own':
      return new GatewayError('access_denied', `${refused.by} proposed it: another administrator approves it.`)
    case 'credit_unknown':
      return invalidValue('of', `${workspaceId} has no ${corrects}`)
    case 'reversal_exceeds':
      return refused.leftPicos === 0n
        ? invalidValue('amount', `${corrects} is reversed already`)
        : invalidValue('amount', `of ${corrects}, at most ${formatUsd(refused.leftPicos)} USD can still be posted`)
    case 'charge_corrected':
      return conflict(`${corrects} was corrected in the meantime: try again.`)
    case 'charge_changed':
      return conflict(
        `${corrects} was charged ${formatUsd(refused.beforePicos)} USD when ${reference} was proposed, and ${formatUsd(refused.nowPicos)} USD with the adjustments since: reject it, and propose what is left to correct.`,
      )
    case 'charge_exceeded': {
      const left = refused.leftPicos === 0n ? 'nothing' : `at most ${formatUsd(refused.leftPicos)} USD`
      return invalidValue(
        'amount',
        `of the charge of ${corrects}, ${left} is left to give back; more than that is goodwill`,
      )
    }
  }
}

const execute = async (
  context: AdjustContext,
  command: AdjustCommand | EndProposalCommand,
  refused: RefusedAdjustment,
): Promise<boolean> => {
  const outcome = await walletHandlerOf(context).execute(refused.workspaceId, command, context.actor)
  if ('facts' in outcome) return outcome.facts.length > 0
  throw refusalOf(outcome.refused as AdjustmentRefusal, refused)
}

/**
 * False when the reference had posted or proposed the same amount before. Throws `not_found`, `invalid_value` for an amount
 * that its reason or what it corrects does not allow, `conflict` where the reference was used otherwise, and
 * `read_models_unavailable` where it names a request and the tables cannot be read.
 */
export const adjustWallet = async (
  context: AdjustContext,
  workspaceId: string,
  adjustment: Adjustment,
): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  requireAmount(adjustment)
  const { corrects, amountPicos, reference } = adjustment
  const chargedPicos = await findChargedPicos(context, workspaceId, corrects)
  const nowMs = context.clock()
  const isAbove = needsApproval(amountPicos, context.approvalAbovePicos())
  const proposedUntilMs = isAbove ? nowMs + administrationLimits.proposalMs : undefined
  const command = { type: 'Adjust' as const, ...adjustment, chargedPicos, by: context.actor, nowMs, proposedUntilMs }
  return execute(context, command, { workspaceId, reference, corrects })
}

/**
 * False when it ended so before. Throws `not_found`, `access_denied` for who proposed it and approves it, and `conflict` where
 * it has ended otherwise or expired, or the charge that it corrects was adjusted since.
 */
export const endProposal = async (
  context: AdjustContext,
  type: EndProposalCommand['type'],
  workspaceId: string,
  reference: string,
): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  const adjustmentId = `${operatorPrefix}${reference}`
  const corrects = findOrCreateWallet(context.tail.ledger, workspaceId).proposals.get(adjustmentId)?.corrects
  const chargedPicos = type === 'ApproveAdjustment' ? await findChargedPicos(context, workspaceId, corrects) : undefined
  const command = { type, adjustmentId, chargedPicos, by: context.actor, nowMs: context.clock() }
  return execute(context, command, { workspaceId, reference, corrects })
}
