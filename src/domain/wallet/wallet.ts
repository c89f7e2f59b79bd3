import { findLimitKey } from '../accounts/accounts.ts'
import { maxOf, minOf } from '../money.ts'
import { OverlayMap, type OverlayOf } from '../overlay-map.ts'
import type { Subscription } from '../plans/subscription.ts'
import type { WatchedRule } from './alerts.ts'
import { expiredPicosAt, type Grants, unheldPicos } from './grants.ts'
import { type Holder, isLabel, type Labels, labelsOf } from './holders.ts'
import type { Proposal } from './proposals.ts'
import {
  noSpending,
  type Remaining,
  remainingUnderLimits,
  type Spending,
  type SpendingHolders,
  type SpendLimits,
  spendDayOf,
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
  /** Null for an allowance that every request of the workspace without spend limits may spend. */
  readonly spender: SpendingHolders | null
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
  /** Adjustments that wait for another's approval, by their id; also those that expired. */
  readonly proposals: OverlayOf<string, Proposal>
  /** By their name. */
  readonly alertRules: OverlayOf<string, WatchedRule>
  /** By the caller's own id, also after the task has ended. */
  readonly externalTasks: OverlayOf<string, ExternalTask>
  /** Same as in the workspace's accounts: a key's spend limits and spending are stored under its limit key. */
  readonly limitKeys: OverlayOf<string, string>
  readonly spendLimits: OverlayOf<Holder, SpendLimits>
  readonly spendings: OverlayOf<Holder, Spending>
  /** How many tags and end users have limits. */
  limitedLabels: number
  grants: Grants
  subscription: Subscription | null
  /** Of the last movement; empty before the first. Times are of one length, and compare as texts. */
  postedAt: string
  subjectSequence: number
}

/** The projection owns it and changes it in place. */
export interface Wallet extends WalletDraft {
  readonly holds: Map<string, Hold>
  readonly references: Map<string, bigint>
  readonly proposals: Map<string, Proposal>
  readonly alertRules: Map<string, WatchedRule>
  readonly externalTasks: Map<string, ExternalTask>
  readonly limitKeys: Map<string, string>
  readonly spendLimits: Map<Holder, SpendLimits>
  readonly spendings: Map<Holder, Spending>
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
  proposals: new Map(),
  alertRules: new Map(),
  externalTasks: new Map(),
  limitKeys: new Map(),
  spendLimits: new Map(),
  spendings: new Map(),
  limitedLabels: 0,
  grants: [],
  subscription: null,
  postedAt: '',
  subjectSequence: 0,
})

type Balance = Pick<WalletDraft, 'creditsPicos' | 'chargesPicos' | 'feesPicos' | 'adjustmentsPicos' | 'lapsedPicos'>

export const balancePicos = (wallet: Balance): bigint =>
  wallet.creditsPicos - wallet.chargesPicos - wallet.feesPicos + wallet.adjustmentsPicos - wallet.lapsedPicos

export const availablePicos = (wallet: WalletDraft): bigint =>
  balancePicos(wallet) + wallet.creditLimitPicos - wallet.heldPicos

/** Whether neither balance nor credit limit leaves anything; held money counts as available. */
export const isUnfunded = (wallet: WalletDraft): boolean => balancePicos(wallet) + wallet.creditLimitPicos <= 0n

export const spendingOf = (wallet: WalletDraft, holder: Holder): Spending =>
  wallet.spendings.get(findLimitKey(wallet, holder)) ?? noSpending

const isLimited = (wallet: WalletDraft, holder: Holder): boolean => (wallet.spendLimits.get(holder)?.length ?? 0) > 0

/** Of a request: those with spend limits among its key, its tags and its end user. */
export const findLimitedHolders = (wallet: WalletDraft, keyId: string, labels: Labels = {}): readonly Holder[] => {
  const holders = [findLimitKey(wallet, keyId), ...(wallet.limitedLabels === 0 ? [] : labelsOf(labels))]
  return holders.filter((holder) => isLimited(wallet, holder))
}

/** The last day that counts for one of them, where that is after the given one. */
export const spendDayAmong = (wallet: WalletDraft, holders: readonly Holder[], day: string): string =>
  holders.reduce((last, holder) => spendDayOf(spendingOf(wallet, holder), last), day)

const leastOf = (remaining: readonly Remaining[]): Remaining | null =>
  remaining.reduce<Remaining | null>(
    (least, each) => (least === null || each.leftPicos < least.leftPicos ? each : least),
    null,
  )

/** Under the limit that leaves the least; null where none of them has one. */
export const findRemaining = (wallet: WalletDraft, holders: readonly Holder[], day: string): Remaining | null => {
  const countedDay = spendDayAmong(wallet, holders, day)
  return leastOf(
    holders.flatMap((holder) => {
      const limits = wallet.spendLimits.get(findLimitKey(wallet, holder)) ?? []
      return remainingUnderLimits(holder, limits, spendingOf(wallet, holder), countedDay)
    }),
  )
}

/** The spending of a key is counted before it has limits; that of a tag or an end user costs nothing until then. */
export const isCounted = ({ spendLimits, spendings }: WalletDraft, holder: Holder): boolean =>
  !isLabel(holder) || spendLimits.has(holder) || spendings.has(holder)

export const isBelowAvailable = (remaining: Remaining | null, wallet: WalletDraft): remaining is Remaining =>
  remaining !== null && remaining.leftPicos < availablePicos(wallet)

export const spendablePicos = (wallet: WalletDraft, remaining: Remaining | null): bigint =>
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
  proposals: new OverlayMap(wallet.proposals),
  alertRules: new OverlayMap(wallet.alertRules),
  externalTasks: new OverlayMap(wallet.externalTasks),
  limitKeys: new OverlayMap(wallet.limitKeys),
  spendLimits: new OverlayMap(wallet.spendLimits),
  spendings: new OverlayMap(wallet.spendings),
})
