import { findOrCreateWallet } from '../../../../domain/ledger/ledger.ts'
import { formatUsd } from '../../../../domain/money.ts'
import type { WalletRefusal } from '../../../../domain/wallet/decide.ts'
import { availablePicos, findRemaining, isBelowAvailable, type Wallet } from '../../../../domain/wallet/wallet.ts'
import { clientGoneError, GatewayError, logUnavailable } from '../../../../errors/gateway-error.ts'
import type { WalletOutcome } from '../../../../log/wallet-command-handler.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import { waitAtMost, withTimeout } from '../../../../runtime/within.ts'
import type { WorkQueue } from '../../../work-queue.ts'
import { admissionLimits } from '../../admission/limits.ts'
import { spendLimitReached } from '../../admission/spender-funds.ts'
import type { PlaceTaskHold, TaskDraft } from './draft-task.ts'
import { OpenPayloads } from './open-payloads.ts'
import { RefusedTasks, type RefusedTasksParts } from './refused-tasks.ts'
import { WalletWatch, type WantedAmount } from './wallet-watch.ts'

const wantedBy = (workspaceId: string, { amountPicos, day, order }: PlaceTaskHold): WantedAmount => ({
  workspaceId,
  keyId: order.keyId,
  day,
  amountPicos,
})

export interface TaskPlacementParts extends RefusedTasksParts {
  readonly taskQueue: Pick<WorkQueue, 'put' | 'withdraw'>
  readonly openPayloadBytesMax: number
}

export class TaskPlacement {
  readonly #parts: TaskPlacementParts
  readonly #watch: WalletWatch
  readonly #refused: RefusedTasks
  readonly #payloads: OpenPayloads
  readonly #placing = new Map<string, number>()
  /** Releases of holds that no caller learnt of, and withdrawals of refused payloads. */
  readonly #returns = new Set<Promise<void>>()

  constructor(parts: TaskPlacementParts) {
    this.#parts = parts
    this.#watch = new WalletWatch(parts.tail)
    this.#refused = new RefusedTasks(parts)
    this.#payloads = new OpenPayloads(parts.tail, parts.openPayloadBytesMax)
  }

  /** If the oldest hold is neither placed nor comes back through the tail, later ones would not either. */
  refuseWhileStalled(): void {
    const [oldestMs] = this.#placing.values()
    if (oldestMs !== undefined && performance.now() - oldestMs > sharedLimits.logStalledMs) throw logUnavailable()
  }

  /**
   * Queues the payload, then places the hold: a hold without its payload could not be processed. `repeated`: the task
   * existed, under its id or the caller's. Throws `insufficient_user_quota`, `key_spend_limit_reached`,
   * `external_task_id_conflict`, `byte_limit_exceeded` or `log_unavailable`.
   */
  async place(draft: TaskDraft, clientGone: AbortSignal): Promise<'placed' | 'repeated'> {
    const { command, payload, workspaceId } = draft
    const untilMs = performance.now() + admissionLimits.admissionWaitMs
    await this.#requireCover(draft, untilMs, clientGone)
    this.#payloads.add(command.taskId, workspaceId, payload.length)
    try {
      await this.#queue(command.taskId, payload)
      return await this.#placeQueued(draft, untilMs, clientGone)
    } catch (fault) {
      this.#payloads.remove(command.taskId)
      throw fault
    }
  }

  async #placeQueued(draft: TaskDraft, untilMs: number, clientGone: AbortSignal): Promise<'placed' | 'repeated'> {
    for (;;) {
      const outcome = await this.#placeHold(draft)
      if ('refused' in outcome) await this.#coveredAfter(outcome.refused, draft, untilMs, clientGone)
      else if (outcome.facts.length > 0) return 'placed'
      else {
        if (this.#belongsToAnother(draft)) this.#withdraw(draft)
        return 'repeated'
      }
    }
  }

  /** Call it after the last placement. A hold not released within `waitMs` stays until the task's end. */
  async close(waitMs: number): Promise<void> {
    this.#watch.close()
    await waitAtMost(Promise.all(this.#returns), waitMs)
    this.#refused.close()
    this.#payloads.close()
  }

  /** The refusal of a task that the wallet would not cover even if every allowance were returned; null otherwise. */
  findShortage({ workspaceId, command }: TaskDraft): GatewayError | null {
    const wanted = wantedBy(workspaceId, command)
    return this.#watch.mayCover(wanted)
      ? null
      : shortage(findOrCreateWallet(this.#parts.tail.ledger, workspaceId), wanted)
  }

  /** Another request was faster: waits for money once more, and withdraws the payload where none is freed. */
  async #coveredAfter(
    { reason }: WalletRefusal,
    draft: TaskDraft,
    untilMs: number,
    clientGone: AbortSignal,
  ): Promise<void> {
    const { order } = draft.command
    try {
      if (reason === 'external_task_differs') throw conflict(order.externalTaskId ?? '', draft.externalIdPath)
      await this.#requireCover(draft, untilMs, clientGone)
    } catch (fault) {
      this.#withdraw(draft)
      throw fault
    }
  }

  /** The caller's id names another task than this one, which then has no hold and never gets one. */
  #belongsToAnother({ workspaceId, command }: TaskDraft): boolean {
    const { externalTaskId = '' } = command.order
    const existing = findOrCreateWallet(this.#parts.tail.ledger, workspaceId).externalTasks.get(externalTaskId)
    return existing !== undefined && existing.taskId !== command.taskId
  }

  /** Only for a task that has no hold for certain. A payload that stays, or that another submit may use, the poller drops in its time. */
  #withdraw({ command: { taskId }, isShared }: TaskDraft): void {
    const { taskQueue, logger } = this.#parts
    this.#payloads.remove(taskId)
    if (isShared) return
    const withdrawn = taskQueue.withdraw(taskId).catch((fault: unknown) => {
      logger.log('video.withdraw_failed', { fault, taskId })
    })
    this.#awaitAtClose(withdrawn)
  }

  #awaitAtClose(work: Promise<void>): void {
    const ended = work.finally(() => this.#returns.delete(ended))
    this.#returns.add(ended)
  }

  async #requireCover({ workspaceId, command }: TaskDraft, untilMs: number, clientGone: AbortSignal): Promise<void> {
    const wanted = wantedBy(workspaceId, command)
    const isCovered = await this.#watch.covers(wanted, Math.ceil(untilMs - performance.now()))
    if (clientGone.aborted) throw clientGoneError()
    if (!isCovered) throw shortage(findOrCreateWallet(this.#parts.tail.ledger, workspaceId), wanted)
  }

  async #queue(taskId: string, payload: Uint8Array): Promise<void> {
    try {
      await withTimeout(this.#parts.taskQueue.put(taskId, payload), sharedLimits.routedAckMs, logUnavailable)
    } catch (fault) {
      throw fault instanceof GatewayError ? fault : logUnavailable(fault)
    }
  }

  async #placeHold({ workspaceId, command, isFound }: TaskDraft): Promise<WalletOutcome> {
    const { taskId } = command
    if (!isFound) this.#refused.watch(taskId)
    const placed = this.#execute(workspaceId, command)
    try {
      const outcome = await withTimeout(placed, sharedLimits.routedAckMs, logUnavailable)
      this.#refused.forget(taskId)
      return outcome
    } catch (fault) {
      if (!isFound) this.#awaitAtClose(this.#refused.release(workspaceId, taskId, placed)) // A task that a retry finds is kept.
      throw fault instanceof GatewayError ? fault : logUnavailable(fault)
    }
  }

  async #execute(workspaceId: string, command: PlaceTaskHold): Promise<WalletOutcome> {
    this.#placing.set(command.taskId, performance.now())
    try {
      return await this.#parts.writer.execute(workspaceId, command)
    } finally {
      this.#placing.delete(command.taskId)
    }
  }
}

export const conflict = (externalTaskId: string, param: string): GatewayError =>
  new GatewayError(
    'external_task_id_conflict',
    `The id \`${externalTaskId}\` was used for a task with another request. Use another id.`,
    { param },
  )

const shortage = (wallet: Wallet, { keyId, day, amountPicos }: WantedAmount): GatewayError => {
  const room = findRemaining(wallet, [keyId], day)
  return isBelowAvailable(room, wallet)
    ? spendLimitReached(room, day)
    : insufficient(amountPicos, availablePicos(wallet))
}

const insufficient = (neededPicos: bigint, leftPicos: bigint): GatewayError =>
  new GatewayError(
    'insufficient_user_quota',
    `The task may cost up to ${formatUsd(neededPicos)} USD, and ${formatUsd(leftPicos)} USD is available. Add credit and try again.`,
  )
