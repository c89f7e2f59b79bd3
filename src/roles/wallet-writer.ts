import { walletOf } from '../domain/ledger/ledger.ts'
import { decideWallet, type WalletCommand, type WalletDecision } from '../domain/wallet/decide.ts'
import { evolveWallet, type WalletFact } from '../domain/wallet/evolve.ts'
import { draftOf, type Wallet } from '../domain/wallet/wallet.ts'
import { GatewayError } from '../errors.ts'
import { limits } from '../limits.ts'
import type { LedgerTail } from './ledger-tail.ts'
import type { LogOf } from './role.ts'

export type WalletEventType = WalletFact['type']

/** The facts a command put into the log (none when it had been carried out before), or why it was refused. */
export type WalletOutcome = WalletDecision & { readonly sequence: number }

interface Waiting {
  readonly command: WalletCommand
  readonly resolve: (outcome: WalletOutcome) => void
  readonly reject: (fault: unknown) => void
}

interface Decided {
  readonly waiting: Waiting
  readonly decision: WalletDecision
}

/**
 * Carries out wallet commands under optimistic concurrency: one frame in flight for each workspace, and the commands that wait
 * meanwhile are decided together for the next.
 */
export class WalletWriter {
  readonly #log: Pick<LogOf<WalletEventType>, 'appendToWallet'>
  readonly #tail: LedgerTail
  readonly #queues = new Map<string, Waiting[]>()

  constructor(log: Pick<LogOf<WalletEventType>, 'appendToWallet'>, tail: LedgerTail) {
    this.#log = log
    this.#tail = tail
  }

  /** Resolves when the command's facts are stored and this process's ledger has applied them. */
  execute(workspaceId: string, command: WalletCommand): Promise<WalletOutcome> {
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(workspaceId)
      const waiting = { command, resolve, reject }
      if (queue !== undefined) {
        queue.push(waiting)
        return
      }
      this.#queues.set(workspaceId, [waiting])
      void this.#drain(workspaceId)
    })
  }

  async #drain(workspaceId: string): Promise<void> {
    for (;;) {
      const waiting = this.#queues.get(workspaceId) ?? []
      if (waiting.length === 0) break
      const batch = waiting.splice(0, limits.walletCommandsMax)
      try {
        await this.#carryOut(workspaceId, batch)
      } catch (fault) {
        for (const { reject } of batch) reject(fault)
      }
    }
    this.#queues.delete(workspaceId)
  }

  async #carryOut(workspaceId: string, batch: readonly Waiting[]): Promise<void> {
    for (let conflicts = 0; conflicts < limits.walletConflictsMax; conflicts += 1) {
      const wallet = walletOf(this.#tail.ledger, workspaceId)
      const decided = decideTogether(wallet, batch)
      const facts = decided.flatMap(({ decision }) => ('facts' in decision ? decision.facts : []))
      const appended =
        facts.length === 0
          ? { sequence: wallet.subjectSequence }
          : await this.#log.appendToWallet(workspaceId, facts, wallet.subjectSequence)
      await this.#tail.reached(appended.sequence)
      if ('conflict' in appended) continue
      for (const { waiting, decision } of decided) waiting.resolve({ ...decision, sequence: appended.sequence })
      return
    }
    throw new GatewayError('log_unavailable', 'The wallet is being changed by too many others.', {
      retryAfterSeconds: 1,
    })
  }
}

/** Decides each command on a draft that has the facts of those before it. */
const decideTogether = (wallet: Wallet, batch: readonly Waiting[]): readonly Decided[] => {
  const draft = draftOf(wallet)
  return batch.map((waiting) => {
    const decision = decideWallet(waiting.command, draft)
    if ('facts' in decision) for (const fact of decision.facts) evolveWallet(draft, fact)
    return { waiting, decision }
  })
}
