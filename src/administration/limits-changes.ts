import {
  findSetLimits,
  type LimitsInForce,
  type LimitsRefusal,
  resolveLimitsInForce,
} from '../domain/accounts/limits.ts'
import { utcDayAt } from '../domain/instant.ts'
import { findOrCreateWallet } from '../domain/ledger/ledger.ts'
import { findLabelLimits, type LabelLimitsRefusal } from '../domain/wallet/decide-label-limits.ts'
import { findEndUser, type Holder, isLabel } from '../domain/wallet/holders.ts'
import { walletLimits } from '../domain/wallet/limits.ts'
import { type Spending, spendingInPeriod } from '../domain/wallet/spending.ts'
import { spendingOf } from '../domain/wallet/wallet.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { Limits } from '../events/types.ts'
import { type AdminContext, accountRefusal, requireWorkspace, walletHandlerOf } from './admin-context.ts'

/** What limits are of; null for the workspace. */
export type LimitsHolder = Holder | null

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

const listLimitedLabels = ({ tail }: Pick<AdminContext, 'tail'>, workspaceId: string): readonly Holder[] =>
  [...findOrCreateWallet(tail.ledger, workspaceId).spendLimits.keys()].filter(isLabel)

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

/** On the UTC day of an instant (milliseconds since the epoch), in its month and ever. */
export const findSpending = (
  { tail }: Pick<AdminContext, 'tail'>,
  workspaceId: string,
  holder: Holder,
  nowMs: number,
): Pick<Spending, 'spent' | 'held'> =>
  spendingInPeriod(spendingOf(findOrCreateWallet(tail.ledger, workspaceId), holder), utcDayAt(nowMs))

export interface EffectiveLimits {
  readonly holder: LimitsHolder
  readonly limits: Limits
  /** Of a workspace; the others have their own alone, beside those of their workspace. */
  readonly inForce: LimitsInForce | null
}

/** The configured default of a workspace; null for no limit. */
type Configured = number | null

const isSome = (limits: Limits): boolean => Object.keys(limits).length > 0

export const findOwnLimits = (
  { tail: { ledger } }: Pick<AdminContext, 'tail'>,
  workspaceId: string,
  holder: LimitsHolder,
): Limits =>
  holder !== null && isLabel(holder)
    ? findLabelLimits(findOrCreateWallet(ledger, workspaceId), holder)
    : findSetLimits(ledger.accounts, workspaceId, holder)

export const findEffectiveLimits = (
  context: Pick<AdminContext, 'tail'>,
  workspaceId: string,
  holder: LimitsHolder,
  requestsPerMinute: Configured,
): EffectiveLimits => {
  const configured = requestsPerMinute === null ? {} : { requestsPerMinute }
  const { accounts } = context.tail.ledger
  return {
    holder,
    limits: findOwnLimits(context, workspaceId, holder),
    inForce: holder === null ? resolveLimitsInForce(accounts, workspaceId, configured) : null,
  }
}

/** Of the workspace, then of each of its working keys, its tags and end users that has limits. Throws `not_found`. */
export const listEffectiveLimits = (
  context: Pick<AdminContext, 'tail'>,
  workspaceId: string,
  requestsPerMinute: Configured,
): readonly EffectiveLimits[] => {
  requireWorkspace(context, workspaceId)
  const effectiveOf = (holder: LimitsHolder): EffectiveLimits =>
    findEffectiveLimits(context, workspaceId, holder, requestsPerMinute)
  const keyIds = [...context.tail.ledger.accounts.keys.values()]
    .filter((key) => key.workspaceId === workspaceId && !key.revoked)
    .map(({ keyId }) => keyId)
  const others = [...keyIds, ...listLimitedLabels(context, workspaceId).toSorted()].map(effectiveOf)
  return [effectiveOf(null), ...others.filter(({ limits }) => isSome(limits))]
}
