import { executeSetLimits, type KeyId } from '../administration/limits-changes.ts'
import { findSetLimits } from '../domain/accounts/limits.ts'
import type { Limits, Pace, Spend } from '../events/types.ts'
import type { CommandContext } from './command-context.ts'
import { CommandError } from './report.ts'

/** A named member is a new limit, or null for none. */
type Changes<T> = { readonly [Member in keyof T]?: T[Member] | null }

export interface LimitsChange extends Changes<Pick<Limits, 'allowedModels'> & Pace> {
  readonly spend?: Changes<Spend>
  readonly models?: Changes<NonNullable<Limits['models']>>
}

const withChanges = <T extends object>(current: T, changes: Changes<T>): T =>
  Object.fromEntries(
    Object.entries({ ...current, ...changes }).filter(([, limit]) => limit !== null && limit !== undefined),
  ) as T

/** Drops members that became empty. */
const applyChange = (current: Limits, { spend, models, ...change }: LimitsChange): Limits =>
  withChanges<Limits>(current, {
    ...change,
    ...(spend === undefined ? {} : { spend: orNull(withChanges(current.spend ?? {}, spend)) }),
    ...(models === undefined ? {} : { models: orNull(withChanges(current.models ?? {}, models)) }),
  })

const orNull = <T extends object>(members: T): T | null => (Object.keys(members).length === 0 ? null : members)

const readLimits = ({ tail }: CommandContext, workspaceId: string, keyId: KeyId): Limits =>
  findSetLimits(tail.ledger.accounts, workspaceId, keyId)

/** Changes the named limits and leaves the others; false where nothing changed. Throws where the change is refused. */
export const changeLimits = async (
  context: CommandContext,
  workspaceId: string,
  keyId: KeyId,
  change: LimitsChange,
): Promise<boolean> => {
  const limits = applyChange(readLimits(context, workspaceId, keyId), change)
  if (keyId === null && limits.spend !== undefined)
    throw new CommandError('a spend limit is one of a key: name it with --key (a workspace spends what its wallet has)')
  return executeSetLimits(context, workspaceId, keyId, limits)
}
