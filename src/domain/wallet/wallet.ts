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

/** A workspace's money. The fold owns it and changes it in place. */
export interface Wallet {
  readonly workspaceId: string
  creditLimitPicos: bigint
  creditsPicos: bigint
  chargesPicos: bigint
  adjustmentsPicos: bigint
  /** Σ what remains of the open holds. */
  heldPicos: bigint
  readonly holds: Map<string, Hold>
  /** What each credit reference and adjustment id moved: a repeat moves nothing. */
  readonly references: Map<string, bigint>
  /** Sequence of the last frame on the wallet's subject. */
  subjectSequence: number
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
  subjectSequence: 0,
})

export const balancePicos = (wallet: Wallet): bigint =>
  wallet.creditsPicos - wallet.chargesPicos + wallet.adjustmentsPicos

/** What a new hold may take. */
export const availablePicos = (wallet: Wallet): bigint =>
  balancePicos(wallet) + wallet.creditLimitPicos - wallet.heldPicos

/** A copy on which facts that are not yet in the log can be tried. */
export const draftOf = (wallet: Wallet): Wallet => ({
  ...wallet,
  holds: new Map([...wallet.holds].map(([holdId, hold]) => [holdId, { ...hold }])),
  references: new Map(wallet.references),
})
