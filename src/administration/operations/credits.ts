import { formatUsd, parseUsd } from '../../domain/money.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import type { AdminChange } from '../../projections/admin-changes/queries.ts'
import { creditWallet } from '../account-changes.ts'
import { type AdminOperation, defineOperation, futureMs, type OperationInput } from '../operation.ts'
import { requireReference } from '../reference.ts'
import type { CreditRequest } from '../requests.types.ts'
import type { CreditResponse } from '../responses.types.ts'
import { ownEventList } from './events.ts'
import { showWorkspace, workspaceRecord } from './workspaces.ts'

const referenceForm = {
  pattern: /^(?!\s|.*\s$).{1,200}$/s,
  description: 'at most 200 characters, and no blanks at its ends',
}

const parseAmount = ({ amount }: CreditRequest): bigint => {
  const picos = parseUsd(amount)
  if (picos === 0n) throw invalidValue('amount', 'must be above zero')
  return picos
}

const renderCredit = ({ sequence, actor, time, detail }: AdminChange) => ({
  object: 'credit',
  reference: detail['reference'],
  amount: detail['amount'],
  note: detail['note'],
  expires_at: detail['expiresAt'] ?? null,
  sequence,
  actor,
  time,
})

export const creditOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'credit.add',
    summary: 'Add money, once for each reference',
    request: 'requests/admin/credit.json',
    answer: 'credit',
    http: { method: 'post', path: '/admin/v1/workspaces/:id/credits' },
    permission: 'move_money',
    cli: {
      words: 'credit',
      arguments: { id: '<workspace>', amount: '<usd>' },
      members: {
        reference: { required: true, description: 'What the money is for, such as an invoice number.' },
      },
      records: (context, { id }) => [workspaceRecord(context, id)],
      reports: { unchanged: 'the reference was credited before; nothing was added' },
    },
    run: async (context, input: OperationInput<CreditRequest>) => {
      const { id, body } = input
      const { note = '', expires_at } = body
      const reference = requireReference(input, referenceForm)
      const amountPicos = parseAmount(body)
      const expiresAt =
        expires_at === undefined ? undefined : new Date(futureMs(expires_at, 'expires_at', context)).toISOString()
      const changed = await creditWallet(context, id, { amountPicos, reference, note, expiresAt })
      const workspace = showWorkspace(context, id)
      const credit: CreditResponse = { object: 'credit', reference, amount: formatUsd(amountPicos), workspace }
      return { changed, body: credit }
    },
  }),
  ownEventList({
    noun: 'credit',
    summary: 'Money that was added, newest first',
    type: 'WalletCredited',
    render: renderCredit,
  }),
]
