import { formatUsd } from '../../domain/money.ts'
import { chargeFor, chargeReservation, unpricedOf } from '../../domain/pricing/charge.ts'
import { isPlausibleUsage } from '../../domain/pricing/worst-case.ts'
import type { Usage, UsageSource } from '../../domain/usage/usage.ts'
import { failureReason, type GatewayError } from '../../errors/gateway-error.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { Attempt, PriceSheet, UsageRecorded } from '../../events/types.ts'
import { errorStatusOf } from '../../http/error-table.ts'
import { countOf } from '../../providers/dialect/count.ts'
import { contradicts } from '../../providers/dialect/delivered.ts'
import type { Delivered } from '../../providers/dialect/dialect.ts'
import type { AnswerRequest } from '../dispatch.ts'
import type { Candidate } from '../role.ts'
import type { AbortedUsageEstimator } from './aborted-usage-estimator.ts'
import type { OpenStream, WholeAnswer } from './attempt.ts'
import type { CalledUpstream, ServedRequest } from './served-request.ts'
import { settleUsage } from './settle-usage.ts'

interface ServedBill {
  readonly candidate: Candidate
  readonly estimate?: UsageRecorded['estimate']
  readonly usage: Usage
  readonly source: UsageSource
  readonly outcome: UsageRecorded['outcome']
  readonly attempts: readonly Attempt[]
  /** The id under which the provider stores the response; null where it stores none. */
  readonly storedId: string | null
}

const callFields = ({ requestId, workspaceId, keyId, surface, allowanceId }: AnswerRequest) => ({
  requestId,
  workspaceId,
  keyId,
  surface,
  allowanceId,
})

const unpricedMembers = (sheet: PriceSheet, usage: Usage): NonNullable<UsageRecorded['unpriced']> => {
  const { serviceTier, inferenceGeo } = unpricedOf(sheet, usage)
  return [
    ...(serviceTier === undefined ? [] : ['service_tier' as const]),
    ...(inferenceGeo === undefined ? [] : ['inference_geo' as const]),
  ]
}

const choicesOf = ({ body }: AnswerRequest): number => countOf(body['n']) ?? 1

const usageFact = (call: AnswerRequest, bill: ServedBill): FactOf<'UsageRecorded'> => {
  const { candidate, usage, source, outcome, attempts, storedId, estimate } = bill
  const isPlausible = isPlausibleUsage(candidate.sheet, usage, choicesOf(call))
  const charge = isPlausible ? chargeFor(candidate.sheet, usage) : chargeReservation(call.reserved)
  const unpriced = unpricedMembers(candidate.sheet, usage)
  return {
    type: 'UsageRecorded',
    data: {
      ...callFields(call),
      model: candidate.model,
      provider: candidate.provider,
      level: candidate.level,
      priceVersion: candidate.priceVersion,
      usage,
      source,
      lines: [...charge.lines],
      total: formatUsd(charge.totalPicos),
      reserved: call.reserved,
      attempts: [...attempts],
      outcome,
      ...(unpriced.length === 0 ? {} : { unpriced }),
      ...(isPlausible ? {} : { plausible: false }),
      ...(storedId === null ? {} : { storedResponseId: storedId }),
      ...(estimate === undefined ? {} : { estimate }),
    },
  }
}

export const failureFact = (
  call: AnswerRequest,
  error: Pick<GatewayError, 'status' | 'code'>,
  attempts: readonly Attempt[],
): FactOf<'RequestFailed'> => ({
  type: 'RequestFailed',
  data: {
    ...callFields(call),
    status: errorStatusOf(error),
    reason: failureReason(error),
    attempts: [...attempts],
  },
})

const reportedBy = (answered: WholeAnswer | OpenStream): Usage | null =>
  answered.type === 'whole' ? answered.answer.reportedUsage : answered.relay.reportedUsage

interface AbortedUsageEstimate {
  readonly estimator: AbortedUsageEstimator
  readonly visibleMs: number
}

interface End {
  readonly outcome: UsageRecorded['outcome']
  readonly attempts: readonly Attempt[]
  readonly aborted: AbortedUsageEstimate
}

/** The upstream of a client that left was cancelled: its last figures, if any, do not cover what it bills. */
const settleAborted = (
  call: AnswerRequest,
  asked: CalledUpstream,
  usages: { readonly reported: Usage | null; readonly counted: Usage },
  { estimator, visibleMs }: AbortedUsageEstimate,
): Pick<ServedBill, 'usage' | 'source' | 'estimate'> => {
  const { usage } = settleUsage(usages.reported, usages.counted)
  return { ...estimator.estimate(call, asked, usage, visibleMs), source: 'estimated' }
}

/** A promise where the upstream did not report all usage, so that it is counted. */
export const billServed = (
  call: AnswerRequest,
  { candidate, calledAtMs, answered }: ServedRequest,
  { outcome, attempts, aborted }: End,
): FactOf<'UsageRecorded'> | Promise<FactOf<'UsageRecorded'>> => {
  const { dialect, target } = answered
  const { delivered, storedId = null } = answered.type === 'whole' ? answered.answer : answered.relay
  const reported = reportedBy(answered)
  const bill = { candidate, outcome, attempts, storedId }
  const isFinal = answered.type === 'whole' || answered.relay.isFinished
  if (reported !== null && isFinal && !contradicts(reported, delivered))
    return usageFact(call, { ...bill, usage: reported, source: 'reported' })
  const settle = (counted: Usage): Pick<ServedBill, 'usage' | 'source' | 'estimate'> =>
    outcome === 'client_gone' && !isFinal
      ? settleAborted(call, { candidate, calledAtMs, dialect, target }, { reported, counted }, aborted)
      : settleUsage(reported, counted)
  return dialect.countUsage(target, call, delivered).then((counted) => usageFact(call, { ...bill, ...settle(counted) }))
}

const nothingDelivered: Delivered = { texts: [], reasoningTexts: [], charactersBeyond: 0, characters: 0 }

export const billUnanswered = async (
  call: AnswerRequest,
  asked: CalledUpstream,
  attempts: readonly Attempt[],
  aborted: AbortedUsageEstimate,
): Promise<FactOf<'UsageRecorded'>> => {
  const { candidate, dialect, target } = asked
  const counted = await dialect.countUsage(target, call, nothingDelivered)
  const settled = settleAborted(call, asked, { reported: null, counted }, aborted)
  return usageFact(call, { candidate, outcome: 'client_gone', attempts, storedId: null, ...settled })
}
