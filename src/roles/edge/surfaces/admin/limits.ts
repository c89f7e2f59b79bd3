import type { AdminContext } from '../../../../administration/admin-context.ts'
import {
  type EffectiveLimits,
  executeSetLimits,
  findEffectiveLimits,
  findSpending,
  listEffectiveLimits,
  modelsIn,
} from '../../../../administration/limits-changes.ts'
import { findWarnings } from '../../../../administration/routing-changes.ts'
import type { LimitsInForce } from '../../../../domain/accounts/limits.ts'
import { formatUsd, parseUsd } from '../../../../domain/money.ts'
import type { Limits, Pace } from '../../../../events/types.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOf } from './page.ts'
import type { SetLimitsRequest } from './requests.types.ts'
import { type AdminCall, type AdminParts, type AdminResult, withWarnings } from './route.ts'

type PaceRequest = Pick<SetLimitsRequest, 'requests_per_minute' | 'tokens_per_minute' | 'concurrent_requests'>

const withoutAbsent = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const paceOf = ({ requests_per_minute, tokens_per_minute, concurrent_requests }: PaceRequest): Pace =>
  withoutAbsent({
    requestsPerMinute: requests_per_minute,
    tokensPerMinute: tokens_per_minute,
    concurrentRequests: concurrent_requests,
  })

const shownPace = ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Pace): PaceRequest =>
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

export const limitsOfRequest = ({ models, spend, allowed_models, ...pace }: SetLimitsRequest): Limits => ({
  ...paceOf(pace),
  ...withoutAbsent({ models: mapped(models, paceOf), spend, allowedModels: allowed_models }),
})

const usdText = (usd: string): string => formatUsd(parseUsd(usd))

export const shownLimits = ({ models, spend, allowedModels, ...pace }: Limits): SetLimitsRequest => ({
  ...shownPace(pace),
  ...withoutAbsent({
    models: mapped(models, shownPace),
    spend: spend && mapped({ ...spend }, usdText),
    allowed_models: allowedModels,
  }),
})

const spentShown = (books: AdminContext, workspaceId: string, keyId: string, nowMs: number): object => {
  const { dayPicos, monthPicos, totalPicos } = findSpending(books, workspaceId, keyId, nowMs)
  return { day: formatUsd(dayPicos), month: formatUsd(monthPicos), total: formatUsd(totalPicos) }
}

const sourcesShown = ({
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

const inForceShown = ({ limits, sources }: LimitsInForce): object => ({
  in_force: shownLimits(limits),
  sources: sourcesShown(sources),
})

const shown =
  ({ id: workspaceId, books }: AdminCall<unknown>, { clock }: AdminParts) =>
  ({ keyId, limits, inForce }: EffectiveLimits): object => ({
    object: 'limits',
    workspace: workspaceId,
    key: keyId,
    limits: shownLimits(limits),
    ...(inForce === null ? {} : inForceShown(inForce)),
    ...(keyId === null ? {} : { spent: spentShown(books, workspaceId, keyId, clock()) }),
  })

const page = pageOf('limits')

export const { known } = page

export const showLimits = (call: AdminCall<undefined>, parts: AdminParts): AdminResult => {
  const found = listEffectiveLimits(call.books, call.id, parts.requestsPerMinute)
  return { body: page.show(found, ({ keyId }) => keyId ?? '', shown(call, parts), readQuery(call.ctx, known)) }
}

const set = async (
  call: AdminCall<unknown>,
  parts: AdminParts,
  keyId: string | null,
  limits: Limits,
): Promise<AdminResult> => {
  const { books, id: workspaceId } = call
  await executeSetLimits(books, workspaceId, keyId, limits)
  const standing = findEffectiveLimits(books, workspaceId, keyId, parts.requestsPerMinute)
  const warnings = findWarnings(books, parts.catalog(), modelsIn(limits))
  return { body: { ...shown(call, parts)(standing), ...withWarnings(warnings) } }
}

export const putWorkspaceLimits = (call: AdminCall<SetLimitsRequest>, parts: AdminParts): Promise<AdminResult> =>
  set(call, parts, null, limitsOfRequest(call.body))

export const putKeyLimits = (call: AdminCall<SetLimitsRequest>, parts: AdminParts): Promise<AdminResult> =>
  set(call, parts, call.key, limitsOfRequest(call.body))

export const deleteWorkspaceLimits = (call: AdminCall<undefined>, parts: AdminParts): Promise<AdminResult> =>
  set(call, parts, null, {})

export const deleteKeyLimits = (call: AdminCall<undefined>, parts: AdminParts): Promise<AdminResult> =>
  set(call, parts, call.key, {})
