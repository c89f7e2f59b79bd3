import type { WalletCommand } from '../../domain/wallet/decide.ts'
import { expirablePicos, type Wallet } from '../../domain/wallet/wallet.ts'
import type { PlanPublished } from '../../events/types.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'

export interface DueWallet {
  readonly workspaceId: string
  readonly commands: readonly WalletCommand[]
}

const never = Number.POSITIVE_INFINITY

type Plans = ReadonlyMap<string, PlanPublished>

const nextEndMs = ({ grants, subscription }: Wallet, afterMs: number): number => {
  const grantMs = grants.find(({ expiresAtMs }) => expiresAtMs > afterMs)?.expiresAtMs ?? never
  const periodMs = subscription?.expiresAtMs ?? never
  return periodMs > afterMs ? Math.min(grantMs, periodMs) : grantMs
}

/** One period of a subscription at a time: the next one, if it is over as well, is due once it is stored. */
const commandsAt = (wallet: Wallet, plans: Plans, nowMs: number): readonly WalletCommand[] => {
  const { grants, subscription } = wallet
  const lapses: WalletCommand[] = grants
    .filter(({ reference, expiresAtMs }) => expiresAtMs <= nowMs && expirablePicos(wallet, reference) > 0n)
    .map(({ reference }) => ({ type: 'LapseCredit', reference }))
  if (subscription === null || subscription.expiresAtMs > nowMs) return lapses
  const { subscriptionId, expiresAtMs, terms } = subscription
  return [...lapses, { type: 'EndPeriod', subscriptionId, expiresAtMs, terms: plans.get(terms.planId) ?? terms }]
}

/** Wallets with credits that lapse, or a plan whose period is over. They are scanned only when one may be due. */
export class DueWallets {
  readonly #tail: Pick<LedgerTail, 'ledger' | 'onApplied'>
  /** Nothing is due before it, except expired credits that are held: those are due when the wallet changes. */
  #earliestMs = Number.NEGATIVE_INFINITY
  readonly #unlisten: () => void

  constructor(tail: Pick<LedgerTail, 'ledger' | 'onApplied'>) {
    this.#tail = tail
    this.#unlisten = tail.onApplied((applied) => {
      for (const { movements } of applied)
        for (const { workspaceId } of movements) {
          const wallet = tail.ledger.wallets.get(workspaceId)
          if (wallet !== undefined) this.#expect(nextEndMs(wallet, Number.NEGATIVE_INFINITY))
        }
    })
  }

  at(nowMs: number): readonly DueWallet[] {
    if (nowMs < this.#earliestMs) return []
    const { wallets, accounts } = this.#tail.ledger
    const due: DueWallet[] = []
    this.#earliestMs = never
    for (const wallet of wallets.values()) {
      const commands = commandsAt(wallet, accounts.plans, nowMs)
      if (commands.length > 0) due.push({ workspaceId: wallet.workspaceId, commands })
      this.#expect(nextEndMs(wallet, nowMs))
    }
    // A command that could not be stored is due again.
    if (due.length > 0) this.#expect(nowMs)
    return due
  }

  stop(): void {
    this.#unlisten()
  }

  #expect(instantMs: number): void {
    this.#earliestMs = Math.min(this.#earliestMs, instantMs)
  }
}
