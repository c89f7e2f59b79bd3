import type { FactOf } from '../../events/envelope.ts'
import type { Limits, LimitsSet, Pace, Spend } from '../../events/types.ts'
import { formatUsd, parseUsd } from '../money.ts'
import { allowAllModels, type ModelPermission, withoutSnapshot } from '../routing/plan.ts'
import { type Accounts, type AccountsDraft, findLimitKey, findPlanLimits, type Key } from './accounts.ts'

/** Limits apply to a key of a workspace, or, without a key, to the workspace. */
const holderOf = (workspaceId: string, keyId = ''): string => `${workspaceId} ${keyId}`

/** Those of a tag or an end user are spend limits alone, which the wallet has. */
export const putLimits = (book: AccountsDraft['limits'], data: LimitsSet): void => {
  const { workspaceId, keyId, tag, endUser, limits } = data
  if (tag === undefined && endUser === undefined) book.set(holderOf(workspaceId, keyId), limits)
}

const noLimits: Limits = {}

/** The limits set for a key or for one it replaced; with null, for the workspace. */
export const findSetLimits = (
  accounts: Pick<AccountsDraft, 'limits' | 'limitKeys'>,
  workspaceId: string,
  keyId: string | null,
): Limits => accounts.limits.get(holderOf(workspaceId, keyId === null ? '' : findLimitKey(accounts, keyId))) ?? noLimits

/** The limits of the workspace and those of the key: both apply. */
export interface BindingLimits {
  readonly workspace: Limits
  readonly key: Limits
}

/** Limits set for a workspace override those of its plan, member by member. */
const workspaceLimitsOf = (
  accounts: Pick<Accounts, 'limits' | 'limitKeys' | 'subscriptions'>,
  workspaceId: string,
): Limits => {
  const own = findSetLimits(accounts, workspaceId, null)
  const ofPlan = findPlanLimits(accounts, workspaceId)
  return ofPlan === null ? own : { ...ofPlan, ...own }
}

export const resolveLimits = (
  accounts: Pick<Accounts, 'limits' | 'limitKeys' | 'subscriptions'>,
  { keyId, workspaceId }: Pick<Key, 'keyId' | 'workspaceId'>,
): BindingLimits => ({
  workspace: workspaceLimitsOf(accounts, workspaceId),
  key: findSetLimits(accounts, workspaceId, keyId),
})

type LimitSource = 'configuration' | 'plan' | 'own'

export interface LimitsInForce {
  readonly limits: Limits
  readonly sources: { readonly [Member in keyof Limits]?: LimitSource }
}

/** `configured` are the defaults for workspaces without limits of their own. */
export const resolveLimitsInForce = (accounts: Accounts, workspaceId: string, configured: Limits): LimitsInForce => {
  const own = findSetLimits(accounts, workspaceId, null)
  const assigned = workspaceLimitsOf(accounts, workspaceId)
  const sourceOf = (member: string): LimitSource => {
    if (member in own) return 'own'
    return member in assigned ? 'plan' : 'configuration'
  }
  const limits = { ...configured, ...assigned }
  return { limits, sources: Object.fromEntries(Object.keys(limits).map((member) => [member, sourceOf(member)])) }
}

/** `openai/*` is every model of `openai`; a model includes its dated snapshots. */
const isListed = (allowed: readonly string[], model: string): boolean =>
  allowed.includes(model) || allowed.includes(withoutSnapshot(model)) || allowed.includes(everyOf(model))

const everyOf = (model: string): string => `${model.slice(0, model.indexOf('/'))}/*`

export const modelPermissionOf = (accounts: Accounts, key: Pick<Key, 'keyId' | 'workspaceId'>): ModelPermission => {
  const { workspace, key: own } = resolveLimits(accounts, key)
  const lists = [workspace.allowedModels, own.allowedModels].filter((list) => list !== undefined)
  return lists.length === 0 ? allowAllModels : (model) => lists.every((list) => isListed(list, model))
}

export interface SetLimits {
  readonly workspaceId: string
  readonly keyId: string | null
  readonly limits: Limits
}

export type LimitsRefusal = 'workspace_unknown' | 'key_unknown' | 'spend_needs_key'
export type LimitsDecision = { readonly facts: readonly FactOf<'LimitsSet'>[] } | { readonly refused: LimitsRefusal }

const refusalOf = ({ workspaceId, keyId, limits }: SetLimits, accounts: AccountsDraft): LimitsRefusal | null => {
  if (!accounts.workspaces.has(workspaceId)) return 'workspace_unknown'
  // A workspace's spending is limited by its wallet.
  if (keyId === null) return limits.spend === undefined ? null : 'spend_needs_key'
  return accounts.keys.get(keyId)?.workspaceId === workspaceId ? null : 'key_unknown'
}

export const decideLimits = (command: SetLimits, accounts: AccountsDraft): LimitsDecision => {
  const { workspaceId, keyId, limits } = command
  const refused = refusalOf(command, accounts)
  if (refused !== null) return { refused }
  if (canonicalText(findSetLimits(accounts, workspaceId, keyId)) === canonicalText(limits)) return { facts: [] }
  const ofKey = keyId === null ? {} : { keyId: findLimitKey(accounts, keyId) }
  return { facts: [{ type: 'LimitsSet', data: { workspaceId, ...ofKey, limits } }] }
}

const paceValues = ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Pace) => [
  requestsPerMinute,
  tokensPerMinute,
  concurrentRequests,
]

const spendValues = ({ day, month, total }: Spend) =>
  [day, month, total].map((usd) => (usd === undefined ? undefined : formatUsd(parseUsd(usd))))

const canonicalText = ({ models = {}, spend = {}, allowedModels, ...pace }: Limits): string =>
  JSON.stringify([
    paceValues(pace),
    Object.keys(models)
      .sort()
      .map((model) => [model, paceValues(models[model]!)]),
    spendValues(spend),
    allowedModels === undefined ? null : [...new Set(allowedModels)].sort(),
  ])
