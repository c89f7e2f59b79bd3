import { formatUsd, parseUsd } from '../../domain/money.ts'
import { operatorPrefix } from '../../domain/wallet/decide-adjustment.ts'
import type { AdminChange } from '../../projections/admin-changes/queries.ts'
import { adjustWallet } from '../adjust-wallet.ts'
import { type AdminOperation, defineOperation, type OperationInput } from '../operation.ts'
import { requireReference } from '../reference.ts'
import type { AdjustmentRequest } from '../requests.types.ts'
import type { AdjustmentResponse } from '../responses.types.ts'
import { ownEventList } from './events.ts'
import { showWorkspace, workspaceRecord } from './workspaces.ts'

const referenceForm = {
  pattern: /^[A-Za-z0-9_:-]{1,55}$/,
  description: 'at most 55 of the characters A-Z, a-z, 0-9, _, : and -',
}

const renderAdjustment = ({ sequence, actor, time, detail }: AdminChange) => ({
  object: 'adjustment',
  id: detail['adjustmentId'],
  amount: detail['amount'],
  reason: detail['reason'],
  reference: detail['reference'] ?? null,
  of: detail['corrects'] ?? null,
  note: detail['note'],
  sequence,
  actor: actor ?? detail['by'] ?? null,
  time,
})

export const adjustmentOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'adjustment.post',
    summary: 'Correct a wallet, once for each reference',
    request: 'requests/admin/adjustment.json',
    answer: 'adjustment',
    http: { method: 'post', path: '/admin/v1/workspaces/:id/adjustments' },
    permission: 'move_money',
    cli: {
      words: 'adjust',
      arguments: { id: '<workspace>', amount: '<usd>' },
      members: {
        reason: { required: true },
        reference: { required: true, description: "Your own, such as a ticket's number." },
      },
      records: (context, { id }) => [workspaceRecord(context, id)],
      reports: { unchanged: 'the reference was posted before; nothing was changed' },
    },
    run: async (context, input: OperationInput<AdjustmentRequest>) => {
      const { id, body } = input
      const { reason, of: corrects, note = '' } = body
      const reference = requireReference(input, referenceForm)
      const amountPicos = parseUsd(body.amount)
      const changed = await adjustWallet(context, id, { amountPicos, reason, reference, corrects, note })
      const adjustment: AdjustmentResponse = {
        object: 'adjustment',
        id: `${operatorPrefix}${reference}`,
        amount: formatUsd(amountPicos),
        reason,
        reference,
        of: corrects ?? null,
        note,
        workspace: showWorkspace(context, id),
      }
      return { changed, body: adjustment }
    },
  }),
  ownEventList({
    noun: 'adjustment',
    summary: 'Corrections, newest first',
    type: 'AdjustmentPosted',
    render: renderAdjustment,
  }),
]
