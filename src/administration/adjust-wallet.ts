import { findOrCreateWallet } from '../domain/ledger/ledger.ts'
import { formatUsd } from '../domain/money.ts'
import { type AdjustCommand, operatorReasons } from '../domain/wallet/decide-adjustment.ts'
import { findReversal, namesCredit } from '../domain/wallet/evolve.ts'
import { GatewayError, invalidValue } from '../errors/gateway-error.ts'
import type { EdgeReadModels } from '../read-api/read-models.ts'
import { fromTables } from '../read-api/read-tables.ts'
import { type AdminContext, requireWorkspace, walletHandlerOf } from './admin-context.ts'

type Adjustment = Omit<AdjustCommand, 'type' | 'by'>

interface AdjustContext extends AdminContext {
  readonly readModels: Pick<EdgeReadModels, 'findTrace'>
}

const requireAmount = ({ amountPicos, reason }: Adjustment): void => {
  const side = operatorReasons[reason]
  if (amountPicos === 0n) throw invalidValue('amount', 'must not be zero')
  if (side === 'credit' && amountPicos < 0n)
    throw invalidValue('amount', `a ${reason} gives money back, so it is above zero`)
  if (side === 'debit' && amountPicos > 0n) throw invalidValue('amount', `a ${reason} takes money, so it is below zero`)
}

/** A credit and an adjustment are known to the wallet, which decides on them; a request and a task to the tables. */
const requireCorrected = async ({ tail, readModels }: AdjustContext, workspaceId: string, corrects: string) => {
  const wallet = findOrCreateWallet(tail.ledger, workspaceId)
  if (namesCredit(corrects) || findReversal(wallet, corrects) !== null) return
  const { value: trace } = await fromTables(readModels.findTrace(corrects))
  if (trace?.workspaceId === workspaceId) return
  throw invalidValue('of', `${workspaceId} has no request, task or adjustment with the id ${corrects}`)
}

const reversalRefusal = (corrects: string, leftPicos: bigint): GatewayError =>
  leftPicos === 0n
    ? invalidValue('amount', `${corrects} is reversed already`)
    : invalidValue('amount', `of ${corrects}, at most ${formatUsd(leftPicos)} USD can still be posted`)

/**
 * False when the reference had posted the same amount before. Throws `not_found`, `invalid_value` for an amount that its
 * reason or what it corrects does not allow, `conflict` where the reference has posted another amount, and
 * `read_models_unavailable` where it names a request and the tables cannot be read.
 */
export const adjustWallet = async (
  context: AdjustContext,
  workspaceId: string,
  adjustment: Adjustment,
): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  requireAmount(adjustment)
  const { corrects, reference } = adjustment
  if (corrects !== undefined) await requireCorrected(context, workspaceId, corrects)
  const command = { type: 'Adjust' as const, ...adjustment, by: context.actor }
  const outcome = await walletHandlerOf(context).execute(workspaceId, command, context.actor)
  if ('facts' in outcome) return outcome.facts.length > 0
  const { refused } = outcome
  if (refused.reason === 'reversal_exceeds') throw reversalRefusal(corrects ?? '', refused.leftPicos)
  if (refused.reason !== 'adjustment_differs') throw invalidValue('of', `${workspaceId} has no ${corrects}`)
  throw new GatewayError(
    'conflict',
    `The reference ${reference} has posted ${formatUsd(refused.postedPicos)} USD before, not ${formatUsd(adjustment.amountPicos)}.`,
    { param: 'reference' },
  )
}
