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

/** Money set aside. It ends once; what is left of it then goes back. */
export interface Hold {
  readonly holdId: string
  readonly workspaceId: string
  readonly purpose: HoldPurpose
  readonly amountPicos: bigint
  /** The amount less what was charged against it, never below zero. */
  remainingPicos: bigint
  /** Milliseconds since the epoch. */
  readonly deadlineMs: number
  /** The writer that placed it. */
  readonly owner: string
  /** The key that may spend it, with those that take its place, and the day that it counts for; null for an allowance that any key may spend. */
  readonly spender: KeySpendingHolder | null
}

/** The task that a caller's own id names, and what it asked for. */
export interface ExternalTask {
  readonly taskId: string
  readonly requestDigest: string
}

/** A workspace's money, as decisions see it. */
export interface WalletDraft {
  readonly workspaceId: string
  creditLimitPicos: bigint
  creditsPicos: bigint
  chargesPicos: bigint
  /** What plans cost. */
  feesPicos: bigint
  adjustmentsPicos: bigint
  lapsedPicos: bigint
  /** Σ what remains of the open holds. */
  heldPicos: bigint
  readonly holds: OverlayOf<string, Hold>
  /** What each credit reference and adjustment id moved: a repeat moves nothing. */
  readonly references: OverlayOf<string, bigint>
  /** By the caller's own id, for ever. */
  readonly externalTasks: OverlayOf<string, ExternalTask>
  /** As the workspace's accounts have them: what one of its keys may spend, and what it spent, is found under its limit key. */
  readonly limitKeys: OverlayOf<string, string>
  /** By key, as they were last set; see `isLimited`. */
  readonly spendLimits: OverlayOf<string, SpendLimits>
  /** By key: of all that ever spent or held. */
  readonly spendings: OverlayOf<string, KeySpending>
  /** Credits that lapse, as far as they are not spent. */
  grants: Grants
  /** The plan that the workspace has. */
  subscription: Subscription | null
  /** Sequence of the last frame on the wallet's subject. */
  subjectSequence: number
}

/** A workspace's money. The fold owns it and changes it in place. */
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

export const balancePicos = (wallet: WalletDraft): bigint =>
  wallet.creditsPicos - wallet.chargesPicos - wallet.feesPicos + wallet.adjustmentsPicos - wallet.lapsedPicos

/** What a new hold may take. */
export const availablePicos = (wallet: WalletDraft): bigint =>
  balancePicos(wallet) + wallet.creditLimitPicos - wallet.heldPicos

/** Whether neither balance nor credit limit leaves anything; money that is merely held is there. */
export const isUnfunded = (wallet: WalletDraft): boolean => balancePicos(wallet) + wallet.creditLimitPicos <= 0n

export const spendingOf = (wallet: WalletDraft, keyId: string): KeySpending =>
  wallet.spendings.get(findLimitKey(wallet, keyId)) ?? noSpending

/** Whether a key has spend limits. */
export const isLimited = (wallet: WalletDraft, keyId: string): boolean =>
  (wallet.spendLimits.get(findLimitKey(wallet, keyId))?.length ?? 0) > 0

/** What is left of a key's spend limits on a UTC day; null where it has none, and for no key. */
export const findKeyRemaining = (wallet: WalletDraft, keyId: string | null, day: string): KeyRemaining | null => {
  const limits = keyId === null ? undefined : wallet.spendLimits.get(findLimitKey(wallet, keyId))
  return keyId === null || limits === undefined ? null : remainingUnderLimits(limits, spendingOf(wallet, keyId), day)
}

/** Whether a key's own limit leaves less than its workspace's wallet. */
export const isTighter = (room: KeyRemaining | null, wallet: WalletDraft): room is KeyRemaining =>
  room !== null && room.leftPicos < availablePicos(wallet)

/** What a new hold of a key may take: of the wallet, and of the key's own limits. */
export const spendablePicos = (wallet: WalletDraft, room: KeyRemaining | null): bigint =>
  room === null ? availablePicos(wallet) : minOf(availablePicos(wallet), room.leftPicos)

/** What a fee may take at an instant (milliseconds since the epoch): not what has lapsed by then, and not what is held. */
export const payablePicos = (wallet: WalletDraft, atMs: number): bigint =>
  availablePicos(wallet) - maxOf(0n, expiredPicosAt(wallet.grants, atMs) - wallet.heldPicos)

/** What of a grant can lapse now, and leave every hold covered: whatever the holds still spend, so much of the grant is left. */
export const expirablePicos = (wallet: WalletDraft, reference: string): bigint =>
  maxOf(0n, minOf(unheldPicos(wallet.grants, reference, wallet.heldPicos), availablePicos(wallet)))

/** A draft on which facts that are not yet in the log can be tried. It leaves the wallet as it is, and costs the same however much that holds. */
export const draftWallet = (wallet: Wallet): WalletDraft => ({
  ...wallet,
  holds: new OverlayMap(wallet.holds),
  references: new OverlayMap(wallet.references),
  externalTasks: new OverlayMap(wallet.externalTasks),
  limitKeys: new OverlayMap(wallet.limitKeys),
  spendLimits: new OverlayMap(wallet.spendLimits),
  spendings: new OverlayMap(wallet.spendings),
})
