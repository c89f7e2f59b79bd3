import { setLimitsOf } from '../domain/accounts/limits.ts'
import { utcDayAt } from '../domain/instant.ts'
import { walletOf } from '../domain/ledger/ledger.ts'
import { formatUsd } from '../domain/money.ts'
import { spendingOn } from '../domain/wallet/spending.ts'
import { spendingOf } from '../domain/wallet/wallet.ts'
import type { Limits, Pace, Spend } from '../events/types.ts'
import { writerOf } from '../roles/books.ts'
import type { Books } from './accounts.ts'
import { CommandError } from './report.ts'

/** Each member that is named: a new limit, or null for none. */
type Changes<T> = { readonly [Member in keyof T]?: T[Member] | null }

export interface LimitsChange extends Changes<Pick<Limits, 'allowedModels'> & Pace> {
  readonly spend?: Changes<Spend>
  readonly models?: Changes<NonNullable<Limits['models']>>
}

/** Null for the limits of the workspace. */
type KeyId = string | null

const refusals = {
  workspace_unknown: 'no such workspace',
  key_unknown: 'the workspace has no such key',
  spend_needs_key: 'a spend limit is one of a key: name it with --key (a workspace spends what its wallet has)',
} as const

const withChanges = <T extends object>(standing: T, changes: Changes<T>): T =>
  Object.fromEntries(
    Object.entries({ ...standing, ...changes }).filter(([, limit]) => limit !== null && limit !== undefined),
  ) as T

/** Without members that say nothing. */
const changed = (standing: Limits, { spend, models, ...change }: LimitsChange): Limits =>
  withChanges<Limits>(standing, {
    ...change,
    ...(spend === undefined ? {} : { spend: orNull(withChanges(standing.spend ?? {}, spend)) }),
    ...(models === undefined ? {} : { models: orNull(withChanges(standing.models ?? {}, models)) }),
  })

const orNull = <T extends object>(members: T): T | null => (Object.keys(members).length === 0 ? null : members)

const standingOf = ({ tail }: Books, workspaceId: string, keyId: KeyId): Limits =>
  setLimitsOf(tail.ledger.accounts, workspaceId, keyId)

const set = async (books: Books, workspaceId: string, keyId: KeyId, limits: Limits): Promise<boolean> => {
  const decision = await writerOf(books).executeLimits(workspaceId, { workspaceId, keyId, limits }, books.actor)
  if ('refused' in decision) throw new CommandError(refusals[decision.refused])
  return decision.facts.length > 0
}

/** Changes the limits that are named and leaves the others; false when they stood so already. Throws CommandError when it is refused. */
export const changeLimits = (books: Books, workspaceId: string, keyId: KeyId, change: LimitsChange): Promise<boolean> =>
  set(books, workspaceId, keyId, changed(standingOf(books, workspaceId, keyId), change))

/** Lifts all of them; false when there were none. */
export const clearLimits = (books: Books, workspaceId: string, keyId: KeyId): Promise<boolean> =>
  set(books, workspaceId, keyId, {})

/** USD that a key spent on a UTC day, in its month and ever. */
export const spentRecord = ({ tail }: Books, workspaceId: string, keyId: string, nowMs: number) => {
  const spending = spendingOf(walletOf(tail.ledger, workspaceId), keyId)
  const { spent } = spendingOn(spending, utcDayAt(nowMs))
  return {
    spent_day: formatUsd(spent.dayPicos),
    spent_month: formatUsd(spent.monthPicos),
    spent_total: formatUsd(spent.totalPicos),
  }
}

export interface LimitsRecord {
  readonly workspace: string
  /** Null for the limits of the workspace. */
  readonly key: KeyId
  readonly limits: Limits
  readonly spent_day?: string
  readonly spent_month?: string
  readonly spent_total?: string
}

/** Of the workspace, then of each of its keys that has limits. */
export const limitsRecords = (books: Books, workspaceId: string, nowMs: number): readonly LimitsRecord[] => {
  const { accounts } = books.tail.ledger
  if (!accounts.workspaces.has(workspaceId)) throw new CommandError(refusals.workspace_unknown)
  const ofKeys = [...accounts.keys.values()]
    .filter((key) => key.workspaceId === workspaceId)
    .map(({ keyId }): LimitsRecord => {
      const limits = standingOf(books, workspaceId, keyId)
      return { workspace: workspaceId, key: keyId, limits, ...spentRecord(books, workspaceId, keyId, nowMs) }
    })
    .filter(({ limits }) => Object.keys(limits).length > 0)
  return [{ workspace: workspaceId, key: null, limits: standingOf(books, workspaceId, null) }, ...ofKeys]
}

const spendText = (spent: string | undefined, limit: string | undefined): string =>
  limit === undefined ? '' : `${spent} of ${limit}`

const paceText = ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Pace): string =>
  [
    ...(requestsPerMinute === undefined ? [] : [`${requestsPerMinute} requests/min`]),
    ...(tokensPerMinute === undefined ? [] : [`${tokensPerMinute} tokens/min`]),
    ...(concurrentRequests === undefined ? [] : [`${concurrentRequests} at once`]),
  ].join(', ')

const modelPaces = (models: Limits['models'] = {}): string =>
  Object.entries(models)
    .map(([model, pace]) => `${model}: ${paceText(pace)}`)
    .join('; ')

/** For people: one line, USD. */
export const limitsInShort = ({ key, limits, ...spent }: LimitsRecord) => ({
  key: key ?? '(workspace)',
  spend_day: spendText(spent.spent_day, limits.spend?.day),
  spend_month: spendText(spent.spent_month, limits.spend?.month),
  spend_total: spendText(spent.spent_total, limits.spend?.total),
  pace: paceText(limits),
  models: limits.allowedModels === undefined ? 'every' : limits.allowedModels.join(' ') || 'none',
  model_paces: modelPaces(limits.models),
})
