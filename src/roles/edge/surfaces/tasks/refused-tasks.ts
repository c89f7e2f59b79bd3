import type { Applied } from '../../../../domain/ledger/ledger.ts'
import { undeliveredFact } from '../../../../domain/wallet/undelivered.ts'
import type { FactOf } from '../../../../events/envelope.ts'
import type { LogOf } from '../../../../log/event-log.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import type { WalletCommandHandler, WalletOutcome } from '../../../../log/wallet-command-handler.ts'
import type { Logger } from '../../../../runtime/logger.ts'

export interface RefusedTasksParts {
  readonly tail: LedgerTail
  readonly log: Pick<LogOf<'AdjustmentPosted'>, 'postToWallet'>
  readonly writer: Pick<WalletCommandHandler, 'execute'>
  readonly logger: Logger
}

/** Tasks whose caller may get an error although their hold is stored later, and who then cannot find them: they cost nothing. */
export class RefusedTasks {
  readonly #parts: RefusedTasksParts
  /** What takes back the charge of a task that has ended; null for one that has charged nothing. */
  readonly #refunds = new Map<string, FactOf<'AdjustmentPosted'> | null>()
  readonly #stopListening: () => void

  constructor(parts: RefusedTasksParts) {
    this.#parts = parts
    this.#stopListening = parts.tail.onApplied((applied) => {
      if (this.#refunds.size > 0) for (const each of applied) this.#noteCharge(each)
    })
  }

  /** Call it before the hold is placed: the task may end before its placement is known. */
  watch(taskId: string): void {
    this.#refunds.set(taskId, null)
  }

  forget(taskId: string): void {
    this.#refunds.delete(taskId)
  }

  /** Gives the hold back once it is known, or what was charged where the vendor was faster. */
  async release(workspaceId: string, taskId: string, placed: Promise<WalletOutcome>): Promise<void> {
    const { writer, log, logger } = this.#parts
    try {
      // A rejected command was never stored, or the log is closed: there is nothing to release.
      const outcome = await placed.catch(() => null)
      if (outcome === null || 'refused' in outcome) return
      await writer.execute(workspaceId, { type: 'ReleaseHold', holdId: taskId, reason: 'submit_failed' })
      const refund = this.#refunds.get(taskId)
      if (refund) await log.postToWallet(workspaceId, [refund])
    } catch (fault) {
      logger.log('video.orphan_task_resumed', { fault, taskId })
    } finally {
      this.forget(taskId)
    }
  }

  close(): void {
    this.#stopListening()
  }

  #noteCharge({ event, task, movements }: Applied): void {
    if (event.type !== 'TaskSettled' || task === null || !this.#refunds.has(task.taskId)) return
    const { taskId, workspaceId, total } = task
    const spender = movements.find(({ kind }) => kind === 'charge')?.spender ?? null
    if (total !== '0') this.#refunds.set(taskId, undeliveredFact({ requestId: taskId, workspaceId, total }, spender))
  }
}
