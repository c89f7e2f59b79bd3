import { formatUsd } from '../../domain/money.ts'
import { type Charge, chargeFor } from '../../domain/pricing/charge.ts'
import type { Usage, UsageSource } from '../../domain/usage/usage.ts'
import { failureReason, type GatewayError } from '../../errors/gateway-error.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { Attempt, UsageRecorded } from '../../events/types.ts'
import type { AnswerRequest } from '../dispatch.ts'
import type { Candidate } from '../role.ts'

export interface ServedBill {
  readonly candidate: Candidate
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

export const usageFact = (call: AnswerRequest, bill: ServedBill): FactOf<'UsageRecorded'> => {
  const { candidate, usage, source, outcome, attempts, storedId } = bill
  const charge: Charge = chargeFor(candidate.sheet, usage)
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
      ...(storedId === null ? {} : { storedResponseId: storedId }),
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
    status: error.status,
    reason: failureReason(error),
    attempts: [...attempts],
  },
})
