import { type AccountCommand, type AccountDecision, decideAccounts } from '../domain/accounts/decide.ts'
import { decideLimits, type LimitsDecision, type SetLimits } from '../domain/accounts/limits.ts'
import { findOrCreateWallet } from '../domain/ledger/ledger.ts'
import {
  applyToDraft,
  draftWorkspace,
  type WorkspaceDraft,
  type WorkspaceFact,
} from '../domain/ledger/workspace-draft.ts'
import { decideWallet, type WalletCommand, type WalletDecision } from '../domain/wallet/decide.ts'
import {
  decideLabelLimits,
  type LabelLimitsDecision,
  type SetLabelLimits,
} from '../domain/wallet/decide-label-limits.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { LogOf } from './event-log.ts'
import type { LedgerTail } from './ledger-tail.ts'
import { logLimits } from './limits.ts'

export type WalletEventType = WorkspaceFact['type']

export type WalletOutcome = WalletDecision & { readonly sequence: number }
type LimitsOutcome = LimitsDecision & { readonly sequence: number }
type LabelLimitsOutcome = LabelLimitsDecision & { readonly sequence: number }
export type AccountOutcome = AccountDecision & { readonly sequence: number }

interface Decided {
  readonly facts: readonly WorkspaceFact[]
  readonly settle: (sequence: number) => void
}

interface Waiting {
  readonly decide: (draft: WorkspaceDraft) => Decided
  readonly reject: (fault: unknown) => void
}

/** One frame in flight for each workspace: commands that wait meanwhile are decided together for the next. */
export class WalletCommandHandler {
  readonly #log: Pick<LogOf<WalletEventType>, 'appendToWallet'>
  readonly #tail: LedgerTail
  readonly #queues = new Map<string, Waiting[]>()

  constructor(log: Pick<LogOf<WalletEventType>, 'appendToWallet'>, tail: LedgerTail) {
    this.#log = log
    this.#tail = tail
  }

  /** Resolves when the facts are stored and applied to this process's ledger. `actor`: who requested the command. */
  execute(workspaceId: string, command: WalletCommand, actor?: string): Promise<WalletOutcome> {
    return this.#decide(workspaceId, ({ wallet }) => decideWallet(command, wallet), actor)
  }

  /** As `execute`, for the workspace itself and its keys. */
  executeAccount(workspaceId: string, command: AccountCommand, actor?: string): Promise<AccountOutcome> {
    return this.#decide(workspaceId, ({ accounts }) => decideAccounts(command, accounts), actor)
  }

  /** As `execute`, for the limits of the workspace and its keys. */
  executeLimits(workspaceId: string, command: SetLimits, actor?: string): Promise<LimitsOutcome> {
    return this.#decide(workspaceId, ({ accounts }) => decideLimits(command, accounts), actor)
  }

  /** As `execute`, for the limits of a tag or an end user. */
  executeLabelLimits(workspaceId: string, command: SetLabelLimits, actor?: string): Promise<LabelLimitsOutcome> {
    return this.#decide(workspaceId, (draft) => decideLabelLimits(command, draft), actor)
  }

  #decide<Decision extends { readonly facts: readonly WorkspaceFact[] } | { readonly refused: unknown }>(
    workspaceId: string,
    decide: (draft: WorkspaceDraft) => Decision,
    actor: string | undefined,
  ): Promise<Decision & { readonly sequence: number }> {
    return new Promise((resolve, reject) => {
      const decideNow = (draft: WorkspaceDraft): Decided => {
        const decision = decide(draft)
        const facts = 'facts' in decision ? decision.facts : []
        return { facts: attributeTo(actor, facts), settle: (sequence) => resolve({ ...decision, sequence }) }
      }
      this.#enqueue(workspaceId, { decide: decideNow, reject })
    })
  }

  #enqueue(workspaceId: string, waiting: Waiting): void {
    const queue = this.#queues.get(workspaceId)
    if (queue !== undefined) {
      queue.push(waiting)
      return
    }
    this.#queues.set(workspaceId, [waiting])
    void this.#drain(workspaceId)
  }

  async #drain(workspaceId: string): Promise<void> {
    for (;;) {
      const waiting = this.#queues.get(workspaceId) ?? []
      if (waiting.length === 0) break
      const batch = waiting.splice(0, logLimits.walletCommandsMax)
      try {
        await this.#carryOut(workspaceId, batch)
      } catch (fault) {
        for (const { reject } of batch) reject(fault)
      }
    }
    this.#queues.delete(workspaceId)
  }

  async #carryOut(workspaceId: string, batch: readonly Waiting[]): Promise<void> {
    const { ledger } = this.#tail
    for (let conflicts = 0; conflicts < logLimits.walletConflictsMax; conflicts += 1) {
      const wallet = findOrCreateWallet(ledger, workspaceId)
      const decided = decideTogether(draftWorkspace(wallet, ledger.accounts), batch)
      const facts = decided.flatMap((each) => each.facts)
      const appended =
        facts.length === 0
          ? { sequence: wallet.subjectSequence }
          : await this.#log.appendToWallet(workspaceId, facts, wallet.subjectSequence)
      await this.#tail.waitForSequence(appended.sequence)
      if ('conflict' in appended) continue
      for (const { settle } of decided) settle(appended.sequence)
      return
    }
    throw new GatewayError('log_unavailable', 'The wallet is being changed by too many others.', {
      retryAfterSeconds: 1,
    })
  }
}

/** Decides each command on a draft that has the facts of those before it. */
const decideTogether = (draft: WorkspaceDraft, batch: readonly Waiting[]): readonly Decided[] =>
  batch.map(({ decide }) => {
    const decided = decide(draft)
    for (const fact of decided.facts) applyToDraft(draft, fact)
    return decided
  })

const attributeTo = (actor: string | undefined, facts: readonly WorkspaceFact[]): readonly WorkspaceFact[] =>
  actor === undefined ? facts : facts.map((fact) => ({ ...fact, actor }))
