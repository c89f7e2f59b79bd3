import { findLimitKey } from '../../../../domain/accounts/accounts.ts'
import { findOrCreateWallet } from '../../../../domain/ledger/ledger.ts'
import { availablePicos, findRemaining, spendablePicos, type Wallet } from '../../../../domain/wallet/wallet.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import { admissionLimits } from '../../admission/limits.ts'

export interface WantedAmount {
  readonly workspaceId: string
  readonly keyId: string
  readonly day: string
  readonly amountPicos: bigint
}

interface Waiter {
  readonly wanted: WantedAmount
  readonly end: (isCovered: boolean) => void
}

export class WalletWatch {
  readonly #tail: LedgerTail
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #stopListening: () => void

  constructor(tail: LedgerTail) {
    this.#tail = tail
    this.#stopListening = tail.onApplied((applied) => {
      if (this.#waiters.size === 0) return
      const moved = new Set(applied.flatMap(({ movements }) => movements.map(({ workspaceId }) => workspaceId)))
      for (const workspaceId of moved) this.#wake(workspaceId)
    })
  }

  /** True while so much is available, or would be if every chat allowance were returned unused. */
  mayCover(wanted: WantedAmount): boolean {
    const wallet = findOrCreateWallet(this.#tail.ledger, wanted.workspaceId)
    return isCovered(wallet, wanted) || mayCover(wallet, wanted, new HeldAllowances(wallet))
  }

  /** False when not even all open chat allowances hold enough, or they are not returned within `waitMs`. */
  async covers(wanted: WantedAmount, waitMs: number): Promise<boolean> {
    const { workspaceId } = wanted
    const wallet = findOrCreateWallet(this.#tail.ledger, workspaceId)
    if (isCovered(wallet, wanted)) return true
    const timeout = AbortSignal.timeout(Math.max(0, waitMs))
    if (waitMs <= 0 || !mayCover(wallet, wanted, new HeldAllowances(wallet)) || this.#isCrowded(workspaceId))
      return false
    return this.#wait(wanted, timeout)
  }

  close(): void {
    this.#stopListening()
  }

  #isCrowded(workspaceId: string): boolean {
    return (this.#waiters.get(workspaceId)?.size ?? 0) >= admissionLimits.admissionWaitersMax
  }

  #wait(wanted: WantedAmount, timeout: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const { workspaceId } = wanted
      const waiters = this.#waiters.get(workspaceId) ?? new Set()
      this.#waiters.set(workspaceId, waiters)
      const end = (covered: boolean): void => {
        timeout.removeEventListener('abort', giveUp)
        waiters.delete(waiter)
        if (waiters.size === 0) this.#waiters.delete(workspaceId)
        resolve(covered)
      }
      const giveUp = (): void => end(false)
      const waiter = { wanted, end }
      waiters.add(waiter)
      timeout.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** A workspace may have thousands of waiters, and as many holds, which are summed up once for all of them. */
  #wake(workspaceId: string): void {
    const waiters = this.#waiters.get(workspaceId)
    if (waiters === undefined) return
    const wallet = findOrCreateWallet(this.#tail.ledger, workspaceId)
    const held = new HeldAllowances(wallet)
    for (const { wanted, end } of [...waiters])
      if (isCovered(wallet, wanted)) end(true)
      else if (!mayCover(wallet, wanted, held)) end(false)
  }
}

const isCovered = (wallet: Wallet, { keyId, day, amountPicos }: WantedAmount): boolean =>
  spendablePicos(wallet, findRemaining(wallet, [keyId], day)) >= amountPicos

class HeldAllowances {
  readonly #wallet: Wallet
  readonly #picos = new Map<string | undefined, bigint>()

  constructor(wallet: Wallet) {
    this.#wallet = wallet
  }

  picosOf(keyId?: string): bigint {
    const summed = this.#picos.get(keyId)
    if (summed !== undefined) return summed
    let picos = 0n
    for (const { purpose, remainingPicos, spender } of this.#wallet.holds.values())
      if (purpose === 'allowance' && (keyId === undefined || spender?.holders.includes(keyId))) picos += remainingPicos
    this.#picos.set(keyId, picos)
    return picos
  }
}

const mayCover = (wallet: Wallet, { keyId, day, amountPicos }: WantedAmount, held: HeldAllowances): boolean => {
  const room = findRemaining(wallet, [keyId], day)
  return (
    availablePicos(wallet) + held.picosOf() >= amountPicos &&
    (room === null || room.leftPicos + held.picosOf(findLimitKey(wallet, keyId)) >= amountPicos)
  )
}
