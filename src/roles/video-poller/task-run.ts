import type { Applied } from '../../domain/ledger/ledger.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Sleeper } from '../../runtime/sleeper.ts'
import type { WorkItem } from '../work-queue.ts'
import type { PollerBounds } from './bounds.ts'
import { nextStep, type PollStep } from './next-step.ts'
import type { PaceRandom } from './pace.ts'
import { beginPolling, nextPollState, type PollEvent } from './poll-event.ts'
import { type TaskStepParts, TaskSteps } from './task-steps.ts'

/** Instants are milliseconds of the steady clock. */
export class Lease {
  readonly item: WorkItem
  readonly #leaseMs: number
  readonly #deliveries: number
  #renewedMs: number

  constructor(item: WorkItem, leaseMs: number, nowMs: number) {
    this.item = item
    this.#leaseMs = leaseMs
    this.#deliveries = item.deliveries
    this.#renewedMs = nowMs
  }

  /** True when another process may have the item: this one was paused, or cut off, or was handed the item once more. */
  isLost(nowMs: number): boolean {
    return this.item.deliveries !== this.#deliveries || nowMs - this.#renewedMs >= this.#leaseMs
  }

  renewIfDue(nowMs: number, dueMs: number): void {
    if (nowMs - this.#renewedMs < dueMs) return
    if (this.item.renew()) this.#renewedMs = nowMs
  }
}

export interface TaskRunParts extends TaskStepParts {
  readonly tail: Pick<LedgerTail, 'ledger' | 'waitForSequence'>
  readonly clock: Clock
  readonly random: PaceRandom
  readonly bounds: PollerBounds
}

/** Still recorded when the poller stops: a result must not be fetched twice. */
const lastSteps: ReadonlySet<PollStep['type']> = new Set(['record_submitted', 'settle', 'record_late'])

const readMoment = ({ steadyMs, clock, random }: TaskRunParts, { mayBeShared }: WorkItem) => ({
  steadyMs: steadyMs(),
  nowMs: clock(),
  chance: random(),
  mayBeShared,
})

/** One task, from the moment its item is in hand until it is done or another process has it. */
export class TaskRun {
  readonly taskId: string
  readonly #parts: TaskRunParts
  readonly #steps: TaskSteps
  readonly #sleeper = new Sleeper()
  #state: ReturnType<typeof beginPolling>
  #lease: Lease
  #left = false

  constructor(item: WorkItem, parts: TaskRunParts) {
    const { tail, bounds } = parts
    const at = readMoment(parts, item)
    this.taskId = item.id
    this.#parts = parts
    const held = { taskId: item.id, lease: () => this.#lease, isNext: (type: PollStep['type']) => this.#isNext(type) }
    this.#steps = new TaskSteps(held, parts)
    this.#state = beginPolling(item.deliveries, tail.ledger.tasks.get(item.id) ?? null, at, bounds)
    this.#lease = new Lease(item, bounds.queueLeaseMs, at.steadyMs)
  }

  async run(): Promise<void> {
    while (!this.#left) {
      this.#checkLease()
      const nowMs = this.#parts.steadyMs()
      const step = nextStep(this.#state, nowMs)
      if (!this.#isTaken(step)) break
      if (step.type === 'wait') await this.#sleeper.sleep(step.untilMs - nowMs)
      else if (step.type === 'drop' || step.type === 'finish') await this.#finish(step.type)
      else await this.#attempt(step)
    }
    this.#left = true
  }

  /** Another process may have had the item meanwhile. False when the run is over and the item needs another. */
  resume(item: WorkItem): boolean {
    if (this.#left) return false
    this.#renewLease(item, this.#parts.steadyMs())
    return true
  }

  onTaskChanged({ event, task }: Pick<Applied, 'event' | 'task'>): void {
    const { type, data } = event
    const hasVerdict = (type === 'TaskSettled' || type === 'LateVerdictSeen') && data.vendorTaskId !== undefined
    this.#apply({ type: 'task_changed', task, change: type, hasVerdict })
  }

  keepLease(): void {
    const { bounds, logger, steadyMs } = this.#parts
    this.#checkLease()
    try {
      this.#lease.renewIfDue(steadyMs(), bounds.queueRenewMs)
    } catch (fault) {
      logger.log('video.lease_not_renewed', { fault, taskId: this.taskId })
    }
  }

  /** Returns the item at once; the result of a call under way is still recorded. */
  returnLease(): void {
    this.#apply({ type: 'lease_returned' })
    this.#lease.item.again(0)
  }

  /** Another process may have the item too: both continue, and neither submits before a query. */
  #checkLease(): void {
    const { bounds, steadyMs } = this.#parts
    if (this.#state.stopping || !this.#lease.isLost(steadyMs())) return
    this.#renewLease(this.#lease.item, steadyMs() - bounds.queueRenewMs)
  }

  #renewLease(item: WorkItem, renewedMs: number): void {
    this.#lease = new Lease(item, this.#parts.bounds.queueLeaseMs, renewedMs)
    this.#apply({ type: 'lease_renewed', deliveries: item.deliveries })
  }

  #isTaken({ type }: PollStep): boolean {
    return !this.#state.stopping || lastSteps.has(type)
  }

  #isNext(type: PollStep['type']): boolean {
    this.#checkLease()
    const step = nextStep(this.#state, this.#parts.steadyMs())
    return step.type === type && this.#isTaken(step)
  }

  async #attempt(step: Parameters<TaskSteps['perform']>[0]): Promise<void> {
    const { task } = this.#state
    const event = await this.#steps.attempt(step.type, () => this.#steps.perform(step, task))
    for (const effect of this.#apply(event)) if (effect.type === 'record_progress') await this.#attempt(effect)
  }

  /** Returns the effects that take a step. */
  #apply(event: PollEvent): ReturnType<typeof nextPollState>['effects'] {
    const at = readMoment(this.#parts, this.#lease.item)
    const { state, effects } = nextPollState(this.#state, event, at, this.#parts.bounds)
    this.#state = state
    for (const { type } of effects)
      if (type === 'wake') {
        this.#sleeper.wake()
        this.#steps.cancel()
      } else if (type === 'warn_missing')
        this.#parts.logger.log('video.task_unknown_to_vendor', { taskId: this.taskId })
    return effects
  }

  /** The item may have come again meanwhile: that is done too. */
  async #finish(step: 'drop' | 'finish'): Promise<void> {
    if (step === 'drop') this.#parts.logger.log('video.unheld_request_dropped', { taskId: this.taskId })
    const event = await this.#steps.attempt(step, async () => {
      for (let done: Lease | null = null; done !== this.#lease; ) {
        done = this.#lease
        await done.item.done()
      }
      this.#left = true
      return { type: 'nothing_new' }
    })
    this.#apply(event)
  }
}
