import { type Drafted, LayeredMap } from '../layered-map.ts'
import { maxOf, minOf } from '../money.ts'
import type { Subscription } from '../plans/subscription.ts'
import { type Grants, lapsedByPicos, unheldPicos } from './grants.ts'

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
  readonly holds: Drafted<string, Hold>
  /** What each credit reference and adjustment id moved: a repeat moves nothing. */
  readonly references: Drafted<string, bigint>
  /** By the caller's own id, for ever. */
  readonly externalTasks: Drafted<string, ExternalTask>
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
  grants: [],
  subscription: null,
  subjectSequence: 0,
})

export const balancePicos = (wallet: WalletDraft): bigint =>
  wallet.creditsPicos - wallet.chargesPicos - wallet.feesPicos + wallet.adjustmentsPicos - wallet.lapsedPicos

/** What a new hold may take. */
export const availablePicos = (wallet: WalletDraft): bigint =>
  balancePicos(wallet) + wallet.creditLimitPicos - wallet.heldPicos

/** What a fee may take at an instant (milliseconds since the epoch): not what has lapsed by then, and not what is held. */
export const payablePicos = (wallet: WalletDraft, atMs: number): bigint =>
  availablePicos(wallet) - maxOf(0n, lapsedByPicos(wallet.grants, atMs) - wallet.heldPicos)

/** What of a grant can lapse now, and leave every hold covered: whatever the holds still spend, so much of the grant is left. */
export const lapsablePicos = (wallet: WalletDraft, reference: string): bigint =>
  maxOf(0n, minOf(unheldPicos(wallet.grants, reference, wallet.heldPicos), availablePicos(wallet)))

/** A draft on which facts that are not yet in the log can be tried. It leaves the wallet as it is, and costs the same however much that holds. */
export const draftOf = (wallet: Wallet): WalletDraft => ({
  ...wallet,
  holds: new LayeredMap(wallet.holds),
  references: new LayeredMap(wallet.references),
  externalTasks: new LayeredMap(wallet.externalTasks),
})
