import { findLimitKey } from '../../../../domain/accounts/accounts.ts'
import { findOrCreateWallet } from '../../../../domain/ledger/ledger.ts'
import { availablePicos, findKeyRemaining, spendablePicos, type Wallet } from '../../../../domain/wallet/wallet.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import { admissionLimits } from '../../admission/limits.ts'

export interface WantedAmount {
  readonly workspaceId: string
  readonly keyId: string
  readonly day: string
  readonly amountPicos: bigint
}

export class WalletWatch {
  readonly #tail: LedgerTail
  /** By workspace: callbacks for the next movement. */
  readonly #waiters = new Map<string, Set<() => void>>()
  readonly #stopListening: () => void

  constructor(tail: LedgerTail) {
    this.#tail = tail
    this.#stopListening = tail.onApplied((applied) => {
      if (this.#waiters.size === 0) return
      for (const { movements } of applied) for (const { workspaceId } of movements) this.#wake(workspaceId)
    })
  }

  /** False when not even all open chat slices hold enough, or they are not returned within `waitMs`. */
  async covers(wanted: WantedAmount, waitMs: number): Promise<boolean> {
    const { workspaceId } = wanted
    const wallet = findOrCreateWallet(this.#tail.ledger, workspaceId)
    if (isCovered(wallet, wanted)) return true
    const timeout = AbortSignal.timeout(Math.max(0, waitMs))
    while (!isCovered(wallet, wanted)) {
      if (timeout.aborted || !mayCover(wallet, wanted) || this.#isCrowded(workspaceId)) return false
      await this.#onMovement(workspaceId, timeout)
    }
    return true
  }

  close(): void {
    this.#stopListening()
  }

  #isCrowded(workspaceId: string): boolean {
    return (this.#waiters.get(workspaceId)?.size ?? 0) >= admissionLimits.admissionWaitersMax
  }

  /** Resolves with the next movement of the wallet, or at the timeout. */
  #onMovement(workspaceId: string, timeout: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(workspaceId) ?? new Set()
      this.#waiters.set(workspaceId, waiters)
      const wake = (): void => {
        timeout.removeEventListener('abort', wake)
        waiters.delete(wake)
        if (waiters.size === 0) this.#waiters.delete(workspaceId)
        resolve()
      }
      waiters.add(wake)
      timeout.addEventListener('abort', wake, { once: true })
    })
  }

  #wake(workspaceId: string): void {
    for (const wake of [...(this.#waiters.get(workspaceId) ?? [])]) wake()
  }
}

const isCovered = (wallet: Wallet, { keyId, day, amountPicos }: WantedAmount): boolean =>
  spendablePicos(wallet, findKeyRemaining(wallet, keyId, day)) >= amountPicos

/** True while so much is available, or would be if every slice were returned unused. */
const mayCover = (wallet: Wallet, { keyId, day, amountPicos }: WantedAmount): boolean => {
  const room = findKeyRemaining(wallet, keyId, day)
  return (
    availablePicos(wallet) + slicesPicos(wallet) >= amountPicos &&
    (room === null || room.leftPicos + slicesPicos(wallet, findLimitKey(wallet, keyId)) >= amountPicos)
  )
}

/** What chat slices hold; of one key, where one is given. */
const slicesPicos = ({ holds }: Wallet, keyId?: string): bigint =>
  [...holds.values()].reduce(
    (sum, { purpose, remainingPicos, spender }) =>
      purpose === 'allowance' && (keyId === undefined || spender?.keyId === keyId) ? sum + remainingPicos : sum,
    0n,
  )
