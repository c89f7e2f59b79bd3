import type { FactOf } from '../../events/envelope.ts'
import type { UsageRecorded } from '../../events/types.ts'
import { eventMembers } from './holders.ts'
import type { SpendingHolders } from './spending.ts'

/** Reverses a whole charge, also in what those that it counted for have spent. */
export const undeliveredFact = (
  { requestId, workspaceId, total }: Pick<UsageRecorded, 'requestId' | 'workspaceId' | 'total'>,
  spender: SpendingHolders | null,
): FactOf<'AdjustmentPosted'> => ({
  type: 'AdjustmentPosted',
  data: {
    adjustmentId: `undelivered:${requestId}`,
    workspaceId,
    amount: total,
    reason: 'undelivered',
    corrects: requestId,
    note: 'The answer was charged and, by a fault of the gateway, did not reach its caller.',
    ...(spender === null ? {} : { ...eventMembers(spender.holders), day: spender.day }),
  },
})
