import {
  type AccountFact,
  type Accounts,
  type AccountsDraft,
  applyToAccounts,
  draftAccounts,
  findLimitKey,
} from '../accounts/accounts.ts'
import { putLimits } from '../accounts/limits.ts'
import { applyToWallet, type WalletFact } from '../wallet/evolve.ts'
import { draftWallet, type Wallet, type WalletDraft } from '../wallet/wallet.ts'

export interface WorkspaceDraft {
  readonly wallet: WalletDraft
  readonly accounts: AccountsDraft
}

export type WorkspaceFact = WalletFact | AccountFact

const accountTypes: { readonly [T in AccountFact['type']]: true } = {
  WorkspaceOpened: true,
  WorkspaceChanged: true,
  WorkspaceSuspended: true,
  WorkspaceResumed: true,
  WorkspaceClosed: true,
  KeyIssued: true,
  KeyExpirySet: true,
  KeyRevoked: true,
}

const walletTypes: { readonly [T in WalletFact['type']]: true } = {
  WalletCredited: true,
  CreditExpired: true,
  HoldPlaced: true,
  HoldReleased: true,
  AdjustmentPosted: true,
  AlertRuleSet: true,
  AlertRuleRemoved: true,
  AlertRaised: true,
  AlertDelivered: true,
  AlertDeliveryFailed: true,
  AdjustmentProposed: true,
  AdjustmentApproved: true,
  AdjustmentRejected: true,
  LimitsSet: true,
  PlanSubscribed: true,
  PlanRenewed: true,
  PlanCancelled: true,
  PlanEnded: true,
}

/** Facts that are ordered within one workspace, and so may be stored on its subject. */
export const isWorkspaceFact = ({ type }: { readonly type: string }): boolean =>
  type in accountTypes || type in walletTypes

const isAccountFact = (fact: WorkspaceFact): fact is AccountFact => fact.type in accountTypes

/** A wallet's balance may go as far below zero as the workspace's credit limit allows. */
export const applyCreditLimit = (wallet: WalletDraft, { workspaces }: AccountsDraft): void => {
  wallet.creditLimitPicos = workspaces.get(wallet.workspaceId)?.creditLimitPicos ?? 0n
}

/** Spend limits and spending of a key are those of the first key of its chain of replacements. */
export const applyLimitKey = (wallet: WalletDraft, accounts: AccountsDraft, keyId: string): void => {
  const limitKey = findLimitKey(accounts, keyId)
  const isOurs = accounts.keys.get(keyId)?.workspaceId === wallet.workspaceId
  if (isOurs && limitKey !== keyId) wallet.limitKeys.set(keyId, limitKey)
}

export const draftWorkspace = (wallet: Wallet, accounts: Accounts): WorkspaceDraft => ({
  wallet: draftWallet(wallet),
  accounts: draftAccounts(accounts),
})

export const applyToDraft = ({ wallet, accounts }: WorkspaceDraft, fact: WorkspaceFact): void => {
  if (fact.type === 'LimitsSet') putLimits(accounts.limits, fact.data)
  if (!isAccountFact(fact)) {
    applyToWallet(wallet, fact)
    return
  }
  applyToAccounts(accounts, fact)
  applyCreditLimit(wallet, accounts)
  if (fact.type === 'KeyIssued') applyLimitKey(wallet, accounts, fact.data.keyId)
}
