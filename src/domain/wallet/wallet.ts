import { findLimitKey } from '../accounts/accounts.ts'
import { maxOf, minOf } from '../money.ts'
import { OverlayMap, type OverlayOf } from '../overlay-map.ts'
import type { Subscription } from '../plans/subscription.ts'
import { expiredPicosAt, type Grants, unheldPicos } from './grants.ts'
import {
  type KeyRemaining,
  type KeySpending,
  type KeySpendingHolder,
  noSpending,
  remainingUnderLimits,
  type SpendLimits,
} from './spending.ts'

export type HoldPurpose = 'task' | 'allowance'

/** Money set aside. It ends once; the rest of it is then released. */
export interface Hold {
  readonly holdId: string
  readonly workspaceId: string
  readonly purpose: HoldPurpose
  readonly amountPicos: bigint
  /** The amount less what was charged against it, never below zero. */
  remainingPicos: bigint
  /** Milliseconds since the epoch. */
  readonly deadlineMs: number
  readonly owner: string
  /** The key that may spend it, and the day that it counts for; null for an allowance that any key may spend. */
  readonly spender: KeySpendingHolder | null
}

interface ExternalTask {
  readonly taskId: string
  readonly requestDigest: string
}

export interface WalletDraft {
  readonly workspaceId: string
  creditLimitPicos: bigint
  creditsPicos: bigint
  chargesPicos: bigint
  feesPicos: bigint
  adjustmentsPicos: bigint
  lapsedPicos: bigint
  /** Σ what remains of the open holds. */
  heldPicos: bigint
  readonly holds: OverlayOf<string, Hold>
  /** The amount of each credit reference and adjustment id, which a repeat does not move, and of what reversed them. */
  readonly references: OverlayOf<string, bigint>
  /** By the caller's own id, also after the task has ended. */
  readonly externalTasks: OverlayOf<string, ExternalTask>
  /** Same as in the workspace's accounts: a key's spend limits and spending are stored under its limit key. */
  readonly limitKeys: OverlayOf<string, string>
  readonly spendLimits: OverlayOf<string, SpendLimits>
  readonly spendings: OverlayOf<string, KeySpending>
  grants: Grants
  subscription: Subscription | null
  subjectSequence: number
}

/** The projection owns it and changes it in place. */
export interface Wallet extends WalletDraft {
  readonly holds: Map<string, Hold>
  readonly references: Map<string, bigint>
  readonly externalTasks: Map<string, ExternalTask>
  readonly limitKeys: Map<string, string>
  readonly spendLimits: Map<string, SpendLimits>
  readonly spendings: Map<string, KeySpending>
}

export const initialWallet = (workspaceId: string): Wallet => ({
  workspaceId,
  creditLimitPicos: 0n,
  creditsPicos: 0n,
  chargesPicos: 0n,
  feesPicos: 0n,
  adjustmentsPicos: 0n,
  lapsedPicos: 0n,
  heldPicos: 0n,
  holds: new Map(),
  references: new Map(),
  externalTasks: new Map(),
  limitKeys: new Map(),
  spendLimits: new Map(),
  spendings: new Map(),
  grants: [],
  subscription: null,
  subjectSequence: 0,
})

type Balance = Pick<WalletDraft, 'creditsPicos' | 'chargesPicos' | 'feesPicos' | 'adjustmentsPicos' | 'lapsedPicos'>

export const balancePicos = (wallet: Balance): bigint =>
  wallet.creditsPicos - wallet.chargesPicos - wallet.feesPicos + wallet.adjustmentsPicos - wallet.lapsedPicos

export const availablePicos = (wallet: WalletDraft): bigint =>
  balancePicos(wallet) + wallet.creditLimitPicos - wallet.heldPicos

/** Whether neither balance nor credit limit leaves anything; held money counts as available. */
export const isUnfunded = (wallet: WalletDraft): boolean => balancePicos(wallet) + wallet.creditLimitPicos <= 0n

export const spendingOf = (wallet: WalletDraft, keyId: string): KeySpending =>
  wallet.spendings.get(findLimitKey(wallet, keyId)) ?? noSpending

export const isLimited = (wallet: WalletDraft, keyId: string): boolean =>
  (wallet.spendLimits.get(findLimitKey(wallet, keyId))?.length ?? 0) > 0

export const findKeyRemaining = (wallet: WalletDraft, keyId: string | null, day: string): KeyRemaining | null => {
  const limits = keyId === null ? undefined : wallet.spendLimits.get(findLimitKey(wallet, keyId))
  return keyId === null || limits === undefined ? null : remainingUnderLimits(limits, spendingOf(wallet, keyId), day)
}

export const isBelowAvailable = (remaining: KeyRemaining | null, wallet: WalletDraft): remaining is KeyRemaining =>
  remaining !== null && remaining.leftPicos < availablePicos(wallet)

export const spendablePicos = (wallet: WalletDraft, remaining: KeyRemaining | null): bigint =>
  remaining === null ? availablePicos(wallet) : minOf(availablePicos(wallet), remaining.leftPicos)

/** What a fee may take at an instant: not what has lapsed by then, and not what is held. */
export const payablePicos = (wallet: WalletDraft, atMs: number): bigint =>
  availablePicos(wallet) - maxOf(0n, expiredPicosAt(wallet.grants, atMs) - wallet.heldPicos)

/** The part of a grant that can lapse now with every hold still covered. */
export const expirablePicos = (wallet: WalletDraft, reference: string): bigint =>
  maxOf(0n, minOf(unheldPicos(wallet.grants, reference, wallet.heldPicos), availablePicos(wallet)))

/** The draft does not change the wallet, and costs the same whatever the wallet's size. */
export const draftWallet = (wallet: Wallet): WalletDraft => ({
  ...wallet,
  holds: new OverlayMap(wallet.holds),
  references: new OverlayMap(wallet.references),
  externalTasks: new OverlayMap(wallet.externalTasks),
  limitKeys: new OverlayMap(wallet.limitKeys),
  spendLimits: new OverlayMap(wallet.spendLimits),
  spendings: new OverlayMap(wallet.spendings),
})
