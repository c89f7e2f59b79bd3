import type { FactOf } from '../../events/envelope.ts'
import type { Limits, LimitsSet, Pace, Spend } from '../../events/types.ts'
import { formatUsd, parseUsd } from '../money.ts'
import type { Accounts, Key } from './accounts.ts'

/** What was set, by `holderOf`. */
export type LimitsBook = Map<string, Limits>

/** Whom limits bind: a key of a workspace, or, without one, the workspace. */
const holderOf = (workspaceId: string, keyId = ''): string => `${workspaceId} ${keyId}`

export const setLimits = (book: LimitsBook, { workspaceId, keyId, limits }: LimitsSet): void => {
  book.set(holderOf(workspaceId, keyId), limits)
}

const noLimits: Limits = {}

/** The limits that bind the requests of a key: its workspace's and its own. Both apply. */
export interface BindingLimits {
  readonly workspace: Limits
  readonly key: Limits
}

export const limitsOf = (
  { limits }: Accounts,
  { keyId, workspaceId }: Pick<Key, 'keyId' | 'workspaceId'>,
): BindingLimits => ({
  workspace: limits.get(holderOf(workspaceId)) ?? noLimits,
  key: limits.get(holderOf(workspaceId, keyId)) ?? noLimits,
})

export interface SetLimits {
  readonly workspaceId: string
  /** Null for the limits of the workspace. */
  readonly keyId: string | null
  readonly limits: Limits
}

export type LimitsRefusal = 'workspace_unknown' | 'key_unknown' | 'spend_needs_key'
export type LimitsDecision = { readonly facts: readonly FactOf<'LimitsSet'>[] } | { readonly refused: LimitsRefusal }

const refusalOf = ({ workspaceId, keyId, limits }: SetLimits, accounts: Accounts): LimitsRefusal | null => {
  if (!accounts.workspaces.has(workspaceId)) return 'workspace_unknown'
  // What a workspace may spend is what its wallet has.
  if (keyId === null) return limits.spend === undefined ? null : 'spend_needs_key'
  return accounts.keys.get(keyId)?.workspaceId === workspaceId ? null : 'key_unknown'
}

const standingOf = ({ workspaceId, keyId }: SetLimits, { limits }: Accounts): Limits =>
  limits.get(holderOf(workspaceId, keyId ?? '')) ?? noLimits

/** Decides what setting limits adds to the log: nothing where they stand already. */
export const decideLimits = (command: SetLimits, accounts: Accounts): LimitsDecision => {
  const refused = refusalOf(command, accounts)
  if (refused !== null) return { refused }
  const { workspaceId, keyId, limits } = command
  if (canonicalText(standingOf(command, accounts)) === canonicalText(limits)) return { facts: [] }
  return { facts: [{ type: 'LimitsSet', data: { workspaceId, ...(keyId === null ? {} : { keyId }), limits } }] }
}

const paceValues = ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Pace) => [
  requestsPerMinute,
  tokensPerMinute,
  concurrentRequests,
]

const spendValues = ({ day, month, total }: Spend) =>
  [day, month, total].map((usd) => (usd === undefined ? undefined : formatUsd(parseUsd(usd))))

/** The same text for limits that say the same, in whichever order. */
const canonicalText = ({ models = {}, spend = {}, allowedModels, ...pace }: Limits): string =>
  JSON.stringify([
    paceValues(pace),
    Object.keys(models)
      .sort()
      .map((model) => [model, paceValues(models[model]!)]),
    spendValues(spend),
    allowedModels === undefined ? null : [...new Set(allowedModels)].sort(),
  ])
