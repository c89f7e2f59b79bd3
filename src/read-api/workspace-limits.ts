import { findKeysOf } from '../domain/accounts/accounts.ts'
import { findSetLimits, type LimitsInForce, resolveLimitsInForce } from '../domain/accounts/limits.ts'
import { utcDayAt } from '../domain/instant.ts'
import { findOrCreateWallet, type Ledger } from '../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import { findLabelLimits } from '../domain/wallet/decide-label-limits.ts'
import { findEndUser, findTag, type Holder, isLabel } from '../domain/wallet/holders.ts'
import { type Spending, spendingInPeriod } from '../domain/wallet/spending.ts'
import { spendingOf } from '../domain/wallet/wallet.ts'
import type { Limits, Pace } from '../events/types.ts'
import { type AdminRole, isPermitted } from '../http/admin-roles.ts'
import { type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { pageOf } from '../http/page.ts'
import { readQuery } from '../http/query.ts'
import type { Clock } from '../runtime/clock.ts'
import type { LedgerLimitsResponse, SetLimitsRequest, StandingLimitsResponse } from './responses.types.ts'

interface LimitsView {
  readonly tail: { readonly ledger: Ledger }
  readonly clock: Clock
}

interface LimitsReader extends LimitsView {
  /** Absent for a key, which reads its own workspace. */
  readonly role?: AdminRole | undefined
}

interface LimitsDefaults {
  /** For workspaces whose limits do not set one; null for no limit. */
  readonly requestsPerMinute: () => number | null
}

/** What limits are of; null for the workspace. */
export type LimitsHolder = Holder | null

export const listLimitedLabels = ({ tail }: Pick<LimitsView, 'tail'>, workspaceId: string): readonly Holder[] =>
  [...findOrCreateWallet(tail.ledger, workspaceId).spendLimits.keys()].filter(isLabel)

/** On the UTC day of an instant (milliseconds since the epoch), in its month and ever. */
const findSpending = (
  { tail }: Pick<LimitsView, 'tail'>,
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
  { tail: { ledger } }: Pick<LimitsView, 'tail'>,
  workspaceId: string,
  holder: LimitsHolder,
): Limits =>
  holder !== null && isLabel(holder)
    ? findLabelLimits(findOrCreateWallet(ledger, workspaceId), holder)
    : findSetLimits(ledger.accounts, workspaceId, holder)

export const findEffectiveLimits = (
  context: Pick<LimitsView, 'tail'>,
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

/** The workspace, then its working keys, its tags and end users that have limits. */
export const listLimitsHolders = (context: Pick<LimitsView, 'tail'>, workspaceId: string): readonly LimitsHolder[] => {
  const { accounts } = context.tail.ledger
  const limited = findKeysOf(accounts, workspaceId).filter(
    ({ keyId, revoked }) => !revoked && isSome(findSetLimits(accounts, workspaceId, keyId)),
  )
  return [null, ...limited.map(({ keyId }) => keyId), ...listLimitedLabels(context, workspaceId).toSorted()]
}

type PaceRequest = Pick<SetLimitsRequest, 'requests_per_minute' | 'tokens_per_minute' | 'concurrent_requests'>

const withoutAbsent = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const paceOf = ({ requests_per_minute, tokens_per_minute, concurrent_requests }: PaceRequest): Pace =>
  withoutAbsent({
    requestsPerMinute: requests_per_minute,
    tokensPerMinute: tokens_per_minute,
    concurrentRequests: concurrent_requests,
  })

export const limitsOfRequest = ({ models, spend, allowed_models, ...pace }: SetLimitsRequest): Limits => ({
  ...paceOf(pace),
  ...withoutAbsent({ models: mapped(models, paceOf), spend, allowedModels: allowed_models }),
})

const renderPace = ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Pace): PaceRequest =>
  withoutAbsent({
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests,
  })

const mapped = <From, To>(
  members: Readonly<Record<string, From>> | undefined,
  map: (value: From) => To,
): Readonly<Record<string, To>> | undefined =>
  members && Object.fromEntries(Object.entries(members).map(([name, value]) => [name, map(value)]))

const usdText = (usd: string): string => formatUsd(parseUsd(usd))

export const renderLimits = ({ models, spend, allowedModels, ...pace }: Limits): SetLimitsRequest => ({
  ...renderPace(pace),
  ...withoutAbsent({
    models: mapped(models, renderPace),
    spend: spend && mapped({ ...spend }, usdText),
    allowed_models: allowedModels,
  }),
})

const renderTally = ({ dayPicos, monthPicos, totalPicos }: Spending['spent']) => ({
  day: formatUsd(dayPicos),
  month: formatUsd(monthPicos),
  total: formatUsd(totalPicos),
})

const renderSources = ({
  requestsPerMinute,
  tokensPerMinute,
  concurrentRequests,
  ...sources
}: LimitsInForce['sources']) =>
  withoutAbsent({
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests,
    models: sources.models,
    allowed_models: sources.allowedModels,
  })

const renderInForce = ({ limits, sources }: LimitsInForce) => ({
  in_force: renderLimits(limits),
  sources: renderSources(sources),
})

interface HolderNames {
  /** Null for the limits of the workspace, a tag or an end user. */
  readonly key: string | null
  readonly tag?: string
  readonly end_user?: string
}

export const holderNames = (holder: LimitsHolder): HolderNames => {
  const [tag, endUser] = holder === null ? [null, null] : [findTag(holder), findEndUser(holder)]
  if (tag !== null) return { key: null, tag }
  return endUser === null ? { key: holder } : { key: null, end_user: endUser }
}

const renderSpending = (parts: LimitsReader, workspaceId: string, holder: Holder) => {
  if (parts.role !== undefined && !isPermitted(parts.role, 'read_money')) return {}
  const { spent, held } = findSpending(parts, workspaceId, holder, parts.clock())
  return { spent: renderTally(spent), held: renderTally(held) }
}

export const renderEffective = (
  parts: LimitsReader,
  workspaceId: string,
  { holder, limits, inForce }: EffectiveLimits,
): StandingLimitsResponse => ({
  object: 'limits',
  workspace: workspaceId,
  ...holderNames(holder),
  limits: renderLimits(limits),
  ...(inForce === null ? {} : renderInForce(inForce)),
  ...(holder === null ? {} : renderSpending(parts, workspaceId, holder)),
})

/** USD on a UTC day, in its month and ever. */
export const spentRecord = (view: Pick<LimitsView, 'tail'>, workspaceId: string, holder: Holder, nowMs: number) => {
  const { day, month, total } = renderTally(findSpending(view, workspaceId, holder, nowMs).spent)
  return { spent_day: day, spent_month: month, spent_total: total }
}

const page = pageOf('limits')

export const limitsParameters = page.known

/** Of the holders that an answer lists, the workspace first. */
export const pageOfLimits = (
  parts: LimitsReader & LimitsDefaults,
  workspaceId: string,
  holders: readonly LimitsHolder[],
  wanted: Parameters<typeof page.show>[3],
) =>
  page.show(
    holders,
    (holder) => holder ?? '',
    (holder) =>
      renderEffective(parts, workspaceId, findEffectiveLimits(parts, workspaceId, holder, parts.requestsPerMinute())),
    wanted,
  )

/** GET /v1/ledger/limits: from the log, so with PostgreSQL away too. */
export const showLimits =
  (parts: LimitsView & LimitsDefaults): HttpMiddleware =>
  (ctx) => {
    const wanted = readQuery(ctx, limitsParameters)
    const workspaceId = readableWorkspace(ctx)
    const holders = listLimitsHolders(parts, workspaceId)
    const reader = { ...parts, role: ctx.state.adminRole }
    ctx.body = pageOfLimits(reader, workspaceId, holders, wanted) satisfies LedgerLimitsResponse
  }
