import type { Applied } from '../../domain/ledger/ledger.ts'
import { formatUsd } from '../../domain/money.ts'
import { findLabelLimits } from '../../domain/wallet/decide-label-limits.ts'
import { adjustmentKey, creditKey, subscriptionKey } from '../../domain/wallet/evolve.ts'
import type { Grant } from '../../domain/wallet/grants.ts'
import { type Holder, isLabel } from '../../domain/wallet/holders.ts'
import type { Spending } from '../../domain/wallet/spending.ts'
import { balancePicos, type Hold, spendingOf, type Wallet } from '../../domain/wallet/wallet.ts'
import type { EventOf } from '../../events/envelope.ts'
import { toInstant } from '../schema/columns.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import type { StoredGrant } from './table.ts'

const storedGrant = ({ reference, remainingPicos, expiresAtMs }: Grant): StoredGrant => ({
  reference,
  remaining: formatUsd(remainingPicos),
  expiresAt: toInstant(expiresAtMs),
})

export const walletRow = (wallet: Wallet): RowOf<'wallets'> => ({
  workspace_id: wallet.workspaceId,
  credits: formatUsd(wallet.creditsPicos),
  charges: formatUsd(wallet.chargesPicos),
  adjustments: formatUsd(wallet.adjustmentsPicos),
  held: formatUsd(wallet.heldPicos),
  credit_limit: formatUsd(wallet.creditLimitPicos),
  balance: formatUsd(balancePicos(wallet)),
  subject_sequence: wallet.subjectSequence,
  fees: formatUsd(wallet.feesPicos),
  lapsed: formatUsd(wallet.lapsedPicos),
  grants: JSON.stringify(wallet.grants.map(storedGrant)),
})

export const holdRow = (hold: Hold): RowOf<'holds'> => ({
  workspace_id: hold.workspaceId,
  hold_id: hold.holdId,
  purpose: hold.purpose,
  owner: storedText(hold.owner),
  amount: formatUsd(hold.amountPicos),
  remaining: formatUsd(hold.remainingPicos),
  deadline: toInstant(hold.deadlineMs),
  key_id: hold.spender?.holders.find((holder) => !isLabel(holder)) ?? null,
  day: hold.spender?.day ?? null,
})

const spendingFigures = ({ day, spent, held }: Spending) => ({
  day,
  spent_day: formatUsd(spent.dayPicos),
  spent_month: formatUsd(spent.monthPicos),
  spent_total: formatUsd(spent.totalPicos),
  held_day: formatUsd(held.dayPicos),
  held_month: formatUsd(held.monthPicos),
  held_total: formatUsd(held.totalPicos),
})

export const keySpendingRow = (workspaceId: string, keyId: string, spending: Spending): RowOf<'key_spending'> => ({
  workspace_id: workspaceId,
  key_id: keyId,
  ...spendingFigures(spending),
})

export const labelSpendingRow = (wallet: Wallet, label: Holder): RowOf<'label_spending'> => ({
  workspace_id: wallet.workspaceId,
  label: storedText(label),
  limits: JSON.stringify(findLabelLimits(wallet, label)),
  ...spendingFigures(spendingOf(wallet, label)),
})

const referenceRow = (workspaceId: string, key: string, amount: string): RowOf<'wallet_references'> => ({
  workspace_id: workspaceId,
  reference: storedText(key),
  amount,
})

type Reference = RowOf<'wallet_references'>

const periodReferences = (
  { movements }: Applied,
  { type, data }: EventOf<'PlanSubscribed'> | EventOf<'PlanRenewed'>,
): readonly Reference[] => {
  const { workspaceId, subscriptionId, price } = data
  return movements.flatMap(({ kind, reference, amountPicos }) => {
    if (kind === 'credit') return [referenceRow(workspaceId, creditKey(reference), formatUsd(amountPicos))]
    return type === 'PlanSubscribed' ? [referenceRow(workspaceId, subscriptionKey(subscriptionId), price)] : []
  })
}

/** Of an event that moved a wallet and must not move it again. */
export const referencesOf = (applied: Applied): readonly Reference[] => {
  const { event } = applied
  switch (event.type) {
    case 'PlanSubscribed':
    case 'PlanRenewed':
      return periodReferences(applied, event)
    case 'WalletCredited':
      return [referenceRow(event.data.workspaceId, creditKey(event.data.reference), event.data.amount)]
    case 'AdjustmentPosted':
      return [referenceRow(event.data.workspaceId, adjustmentKey(event.data.adjustmentId), event.data.amount)]
    default:
      return []
  }
}
