import type { LimitsRefusal } from '../domain/accounts/limits.ts'
import type { LabelLimitsRefusal } from '../domain/wallet/decide-label-limits.ts'
import { findEndUser, isLabel } from '../domain/wallet/holders.ts'
import { walletLimits } from '../domain/wallet/limits.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { Limits } from '../events/types.ts'
import { type LimitsHolder, listLimitedLabels } from '../read-api/workspace-limits.ts'
import { type AdminContext, accountRefusal, requireWorkspace, walletHandlerOf } from './admin-context.ts'

const limitsRefusal = (refused: LimitsRefusal | LabelLimitsRefusal): GatewayError => {
  switch (refused) {
    case 'spend_needs_key':
      return new GatewayError(
        'invalid_value',
        'A spend limit is one of a key, a tag or an end user: a workspace spends what its wallet has.',
        { param: 'spend' },
      )
    case 'spend_only':
      return new GatewayError('invalid_value', 'A tag or an end user has no limits but `spend`.')
    case 'too_many_limited':
      return new GatewayError(
        'conflict',
        `The workspace has limits of ${walletLimits.limitedLabelsMax} tags and end users, which are the most. Lift some of them first.`,
      )
    default:
      return accountRefusal(refused)
  }
}

const decideLimits = (context: AdminContext, workspaceId: string, holder: LimitsHolder, limits: Limits) => {
  const handler = walletHandlerOf(context)
  return holder !== null && isLabel(holder)
    ? handler.executeLabelLimits(workspaceId, { workspaceId, label: holder, limits }, context.actor)
    : handler.executeLimits(workspaceId, { workspaceId, keyId: holder, limits }, context.actor)
}

/** False when unchanged. Throws `not_found`, `conflict`, or `invalid_value` for limits that the holder cannot have. */
export const executeSetLimits = async (
  context: AdminContext,
  workspaceId: string,
  holder: LimitsHolder,
  limits: Limits,
): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  const decision = await decideLimits(context, workspaceId, holder, limits)
  if ('refused' in decision) throw limitsRefusal(decision.refused)
  return decision.facts.length > 0
}

/** False where none had limits. Throws `not_found`. */
export const liftEndUserLimits = async (context: AdminContext, workspaceId: string): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  const endUsers = listLimitedLabels(context, workspaceId).filter((label) => findEndUser(label) !== null)
  const writer = walletHandlerOf(context) // One for all: they are stored together.
  await Promise.all(endUsers.map((endUser) => executeSetLimits({ ...context, writer }, workspaceId, endUser, {})))
  return endUsers.length > 0
}

export const modelsIn = ({ allowedModels = [], models = {} }: Limits): readonly string[] => [
  ...new Set([...allowedModels, ...Object.keys(models)]),
]
