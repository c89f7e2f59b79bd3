import { executeSetLimits, findSpending, type KeyId, listEffectiveLimits } from '../administration/limits-changes.ts'
import { findSetLimits, type LimitsInForce } from '../domain/accounts/limits.ts'
import { formatUsd } from '../domain/money.ts'
import type { Limits, Pace, Spend } from '../events/types.ts'
import type { CommandContext } from './accounts.ts'
import { CommandError } from './report.ts'

/** A named member is a new limit, or null for none. */
type Changes<T> = { readonly [Member in keyof T]?: T[Member] | null }

export interface LimitsChange extends Changes<Pick<Limits, 'allowedModels'> & Pace> {
  readonly spend?: Changes<Spend>
  readonly models?: Changes<NonNullable<Limits['models']>>
}

const withChanges = <T extends object>(standing: T, changes: Changes<T>): T =>
  Object.fromEntries(
    Object.entries({ ...standing, ...changes }).filter(([, limit]) => limit !== null && limit !== undefined),
  ) as T

/** Drops members that became empty. */
const applyChange = (standing: Limits, { spend, models, ...change }: LimitsChange): Limits =>
  withChanges<Limits>(standing, {
    ...change,
    ...(spend === undefined ? {} : { spend: orNull(withChanges(standing.spend ?? {}, spend)) }),
    ...(models === undefined ? {} : { models: orNull(withChanges(standing.models ?? {}, models)) }),
  })

const orNull = <T extends object>(members: T): T | null => (Object.keys(members).length === 0 ? null : members)

const readLimits = ({ tail }: CommandContext, workspaceId: string, keyId: KeyId): Limits =>
  findSetLimits(tail.ledger.accounts, workspaceId, keyId)

/** Changes the named limits and leaves the others; false where nothing changed. Throws where the change is refused. */
export const changeLimits = async (
  books: CommandContext,
  workspaceId: string,
  keyId: KeyId,
  change: LimitsChange,
): Promise<boolean> => {
  const limits = applyChange(readLimits(books, workspaceId, keyId), change)
  if (keyId === null && limits.spend !== undefined)
    throw new CommandError('a spend limit is one of a key: name it with --key (a workspace spends what its wallet has)')
  return executeSetLimits(books, workspaceId, keyId, limits)
}

export const clearLimits = (books: CommandContext, workspaceId: string, keyId: KeyId): Promise<boolean> =>
  executeSetLimits(books, workspaceId, keyId, {})

/** USD on a UTC day, in its month and ever. */
export const spentRecord = (books: CommandContext, workspaceId: string, keyId: string, nowMs: number) => {
  const spent = findSpending(books, workspaceId, keyId, nowMs)
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
  /** Only for the workspace: with those of its plan and of the configuration. */
  readonly in_force?: Limits
  readonly sources?: LimitsInForce['sources']
  readonly spent_day?: string
  readonly spent_month?: string
  readonly spent_total?: string
}

export const limitsRecords = (
  books: CommandContext,
  workspaceId: string,
  requestsPerMinute: number | null,
  nowMs: number,
): readonly LimitsRecord[] =>
  listEffectiveLimits(books, workspaceId, requestsPerMinute).map(({ keyId, limits, inForce }) => ({
    workspace: workspaceId,
    key: keyId,
    limits,
    ...(inForce === null ? {} : { in_force: inForce.limits, sources: inForce.sources }),
    ...(keyId === null ? {} : spentRecord(books, workspaceId, keyId, nowMs)),
  }))

const spendText = (spent: string | undefined, limit: string | undefined): string =>
  limit === undefined ? '' : `${spent} of ${limit}`

type Sources = LimitsInForce['sources']

const sourced = (text: string, source: Sources[keyof Sources]): string =>
  text === '' || source === undefined || source === 'own' ? text : `${text} (${source})`

const paceNames = {
  requestsPerMinute: 'requests/min',
  tokensPerMinute: 'tokens/min',
  concurrentRequests: 'at once',
} as const satisfies Record<keyof Pace, string>

const paceText = (pace: Pace, sources: Sources = {}): string =>
  (Object.keys(paceNames) as (keyof Pace)[])
    .filter((member) => pace[member] !== undefined)
    .map((member) => sourced(`${pace[member]} ${paceNames[member]}`, sources[member]))
    .join(', ')

const modelPaces = (models: Limits['models'] = {}): string =>
  Object.entries(models)
    .map(([model, pace]) => `${model}: ${paceText(pace)}`)
    .join('; ')

const allowedText = ({ allowedModels }: Limits): string =>
  allowedModels === undefined ? 'every' : allowedModels.join(' ') || 'none'

export const limitsInShort = ({ key, limits, in_force = limits, sources = {}, ...spent }: LimitsRecord) => ({
  key: key ?? '(workspace)',
  spend_day: spendText(spent.spent_day, limits.spend?.day),
  spend_month: spendText(spent.spent_month, limits.spend?.month),
  spend_total: spendText(spent.spent_total, limits.spend?.total),
  pace: paceText(in_force, sources),
  models: sourced(allowedText(in_force), sources.allowedModels),
  model_paces: sourced(modelPaces(in_force.models), sources.models),
})
