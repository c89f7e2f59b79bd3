import type { Applied } from '../../domain/ledger/ledger.ts'
import type { Event } from '../../events/envelope.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { Check } from '../../runtime/health.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import { waitAtMost } from '../../runtime/within.ts'
import type { QueueConsumer, WorkItem, WorkQueue } from '../work-queue.ts'
import { pollerLimits } from './limits.ts'
import { TaskRun, type TaskRunParts } from './task-run.ts'
import { VendorAccount, type VideoVendorAccount } from './vendor-account.ts'

interface PollerParts
  extends Omit<TaskRunParts, 'accountOf' | 'payloadReads' | 'signal' | 'tail' | 'logUnavailableWarning'> {
  readonly tail: Pick<LedgerTail, 'ledger' | 'onApplied' | 'waitForSequence'>
  readonly tasks: Pick<WorkQueue, 'take'>
  readonly vendors: ReadonlyMap<string, VideoVendorAccount>
}

const taskIdOf = ({ type, data }: Event): string | null => {
  switch (type) {
    case 'HoldPlaced':
    case 'HoldReleased':
      return data.holdId
    case 'TaskSubmitted':
    case 'TaskProgressed':
    case 'TaskSettled':
    case 'LateVerdictSeen':
      return data.taskId
    default:
      return null
  }
}

export class Poller {
  readonly #parts: PollerParts
  readonly #runParts: TaskRunParts
  readonly #runs = new Map<string, TaskRun>()
  readonly #running = new Set<Promise<void>>()
  readonly #accounts = new Map<string, VendorAccount>()
  readonly #giveUp = new AbortController()
  readonly #unlisten: () => void
  readonly #leaseTimer: NodeJS.Timeout
  readonly #taking: QueueConsumer
  #leasesKeptMs: number
  #stopping = false

  constructor(parts: PollerParts) {
    const { tail, tasks, bounds } = parts
    this.#parts = parts
    this.#leasesKeptMs = parts.steadyMs()
    this.#runParts = {
      ...parts,
      accountOf: (provider) => this.#accountOf(provider),
      payloadReads: new Semaphore(pollerLimits.payloadReadsMax),
      logUnavailableWarning: new ThrottledWarning(parts.logger),
      signal: this.#giveUp.signal,
    }
    this.#unlisten = tail.onApplied((applied) => this.#onApplied(applied))
    this.#leaseTimer = setInterval(() => this.#keepLeases(), bounds.taskLeaseTickMs)
    this.#taking = tasks.take(bounds.openTasksMax, (item) => this.#take(item))
  }

  get check(): Check {
    return this.#taking.check
  }

  /** Returns every item at once; then waits, within bounds, until the results of open calls are recorded. */
  async stop(): Promise<void> {
    const { stopMs, lastAnswerMs } = this.#parts.bounds
    this.#stopping = true
    const stopped = this.#taking.stop()
    clearInterval(this.#leaseTimer)
    for (const run of this.#runs.values()) run.returnLease()
    await waitAtMost(this.#idle(), stopMs)
    this.#giveUp.abort()
    await waitAtMost(this.#idle(), lastAnswerMs)
    for (const { gate } of this.#accounts.values()) gate.stop()
    this.#unlisten()
    await stopped
  }

  #take(item: WorkItem): void {
    if (this.#stopping) {
      item.again(0)
      return
    }
    if (this.#runs.get(item.id)?.resume(item) === true) return
    const run = new TaskRun(item, this.#runParts)
    this.#runs.set(item.id, run)
    const running = run.run().finally(() => {
      this.#running.delete(running)
      if (this.#runs.get(item.id) === run) this.#runs.delete(item.id)
    })
    this.#running.add(running)
  }

  #keepLeases(): void {
    const { bounds, logger, steadyMs } = this.#parts
    const pausedMs = steadyMs() - this.#leasesKeptMs
    if (pausedMs >= bounds.queueLeaseMs) logger.log('video.poller_paused', { pausedMs, tasks: this.#runs.size })
    this.#leasesKeptMs = steadyMs()
    for (const run of this.#runs.values()) run.keepLease()
  }

  #onApplied(applied: readonly Applied[]): void {
    for (const each of applied) {
      const taskId = taskIdOf(each.event)
      if (taskId !== null) this.#runs.get(taskId)?.onTaskChanged(each)
    }
  }

  #accountOf(provider: string): VendorAccount {
    const existing = this.#accounts.get(provider)
    if (existing !== undefined) return existing
    const account = new VendorAccount(provider, this.#parts.vendors.get(provider), this.#parts)
    this.#accounts.set(provider, account)
    return account
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#running)
  }
}
