import type { FactOf } from '../../events/envelope.ts'
import type { Limits } from '../../events/types.ts'
import type { AccountsDraft } from '../accounts/accounts.ts'
import { findEndUser, findTag, type Holder } from './holders.ts'
import { walletLimits } from './limits.ts'
import { spendLimitsOf, spendOf } from './spending.ts'
import type { WalletDraft } from './wallet.ts'

export interface SetLabelLimits {
  readonly workspaceId: string
  readonly label: Holder
  readonly limits: Limits
}

/** `spend_only`: it has no limits of other kinds. */
export type LabelLimitsRefusal = 'workspace_unknown' | 'spend_only' | 'too_many_limited'

export type LabelLimitsDecision =
  | { readonly facts: readonly FactOf<'LimitsSet'>[] }
  | { readonly refused: LabelLimitsRefusal }

export const findLabelLimits = ({ spendLimits }: Pick<WalletDraft, 'spendLimits'>, label: Holder): Limits => {
  const limits = spendLimits.get(label) ?? []
  return limits.length === 0 ? {} : { spend: spendOf(limits) }
}

const labelMembers = (label: Holder): { readonly tag?: string; readonly endUser?: string } => {
  const [tag, endUser] = [findTag(label), findEndUser(label)]
  return { ...(tag === null ? {} : { tag }), ...(endUser === null ? {} : { endUser }) }
}

export const decideLabelLimits = (
  { workspaceId, label, limits: { spend, ...others } }: SetLabelLimits,
  { wallet, accounts }: { readonly wallet: WalletDraft; readonly accounts: Pick<AccountsDraft, 'workspaces'> },
): LabelLimitsDecision => {
  if (!accounts.workspaces.has(workspaceId)) return { refused: 'workspace_unknown' }
  if (Object.keys(others).length > 0) return { refused: 'spend_only' }
  const [before, after] = [wallet.spendLimits.get(label) ?? [], spendLimitsOf(spend)]
  if (JSON.stringify(spendOf(before)) === JSON.stringify(spendOf(after))) return { facts: [] }
  if (before.length === 0 && wallet.limitedLabels >= walletLimits.limitedLabelsMax)
    return { refused: 'too_many_limited' }
  const limits = after.length === 0 ? {} : { spend: spendOf(after) }
  return { facts: [{ type: 'LimitsSet', data: { workspaceId, ...labelMembers(label), limits } }] }
}
