import {
  findSetLimits,
  type LimitsInForce,
  type LimitsRefusal,
  resolveLimitsInForce,
} from '../domain/accounts/limits.ts'
import { utcDayAt } from '../domain/instant.ts'
import { findOrCreateWallet } from '../domain/ledger/ledger.ts'
import { type KeySpending, spendingInPeriod } from '../domain/wallet/spending.ts'
import { spendingOf } from '../domain/wallet/wallet.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { Limits } from '../events/types.ts'
import { type AdminContext, accountRefusal, requireWorkspace, walletHandlerOf } from './admin-context.ts'

/** Null for the limits of the workspace. */
export type KeyId = string | null

const limitsRefusal = (refused: LimitsRefusal): GatewayError =>
  refused === 'spend_needs_key'
    ? new GatewayError('invalid_value', 'A spend limit is one of a key: a workspace spends what its wallet has.', {
        param: 'spend',
      })
    : accountRefusal(refused)

/** False when unchanged. Throws `not_found`, or `invalid_value` for what a workspace may spend. */
export const executeSetLimits = async (
  context: AdminContext,
  workspaceId: string,
  keyId: KeyId,
  limits: Limits,
): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  const decision = await walletHandlerOf(context).executeLimits(
    workspaceId,
    { workspaceId, keyId, limits },
    context.actor,
  )
  if ('refused' in decision) throw limitsRefusal(decision.refused)
  return decision.facts.length > 0
}

export const modelsIn = ({ allowedModels = [], models = {} }: Limits): readonly string[] => [
  ...new Set([...allowedModels, ...Object.keys(models)]),
]

/** On the UTC day of an instant (milliseconds since the epoch), in its month and ever. */
export const findSpending = (
  { tail }: Pick<AdminContext, 'tail'>,
  workspaceId: string,
  keyId: string,
  nowMs: number,
): KeySpending['spent'] =>
  spendingInPeriod(spendingOf(findOrCreateWallet(tail.ledger, workspaceId), keyId), utcDayAt(nowMs)).spent

export interface EffectiveLimits {
  readonly keyId: KeyId
  readonly limits: Limits
  /** Of a workspace; a key has its own alone, beside those of its workspace. */
  readonly inForce: LimitsInForce | null
}

/** The configured default of a workspace; null for no limit. */
type Configured = number | null

const isSome = (limits: Limits): boolean => Object.keys(limits).length > 0

export const findEffectiveLimits = (
  { tail }: Pick<AdminContext, 'tail'>,
  workspaceId: string,
  keyId: KeyId,
  requestsPerMinute: Configured,
): EffectiveLimits => {
  const { accounts } = tail.ledger
  const configured = requestsPerMinute === null ? {} : { requestsPerMinute }
  return {
    keyId,
    limits: findSetLimits(accounts, workspaceId, keyId),
    inForce: keyId === null ? resolveLimitsInForce(accounts, workspaceId, configured) : null,
  }
}

/** Of the workspace, then of each of its working keys that has limits. Throws `not_found`. */
export const listEffectiveLimits = (
  context: Pick<AdminContext, 'tail'>,
  workspaceId: string,
  requestsPerMinute: Configured,
): readonly EffectiveLimits[] => {
  requireWorkspace(context, workspaceId)
  const { accounts } = context.tail.ledger
  const effectiveOf = (keyId: KeyId): EffectiveLimits =>
    findEffectiveLimits(context, workspaceId, keyId, requestsPerMinute)
  const ofKeys = [...accounts.keys.values()]
    .filter((key) => key.workspaceId === workspaceId && !key.revoked)
    .map(({ keyId }) => effectiveOf(keyId))
  return [effectiveOf(null), ...ofKeys.filter(({ limits }) => isSome(limits))]
}
