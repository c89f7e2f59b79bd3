import { type Drafted, LayeredMap } from '../layered-map.ts'

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
  adjustmentsPicos: bigint
  /** Σ what remains of the open holds. */
  heldPicos: bigint
  readonly holds: Drafted<string, Hold>
  /** What each credit reference and adjustment id moved: a repeat moves nothing. */
  readonly references: Drafted<string, bigint>
  /** By the caller's own id, for ever. */
  readonly externalTasks: Drafted<string, ExternalTask>
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
  adjustmentsPicos: 0n,
  heldPicos: 0n,
  holds: new Map(),
  references: new Map(),
  externalTasks: new Map(),
  subjectSequence: 0,
})

export const balancePicos = (wallet: WalletDraft): bigint =>
  wallet.creditsPicos - wallet.chargesPicos + wallet.adjustmentsPicos

/** What a new hold may take. */
export const availablePicos = (wallet: WalletDraft): bigint =>
  balancePicos(wallet) + wallet.creditLimitPicos - wallet.heldPicos

/** A draft on which facts that are not yet in the log can be tried. It leaves the wallet as it is, and costs the same however much that holds. */
export const draftOf = (wallet: Wallet): WalletDraft => ({
  ...wallet,
  holds: new LayeredMap(wallet.holds),
  references: new LayeredMap(wallet.references),
  externalTasks: new LayeredMap(wallet.externalTasks),
})
