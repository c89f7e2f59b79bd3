import type { Applied } from '../../domain/ledger/ledger.ts'
import type { TaskPayload } from '../../domain/video/request.ts'
import { isEnded, type Task } from '../../domain/video/task.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { SubmittedTask, VendorStatus } from '../../providers/vv-video/vendor.ts'
import type { Clock } from '../../runtime/clock.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import type { RecentTasks } from '../recent-tasks.ts'
import type { WorkItem, WorkQueue } from '../work-queue.ts'
import type { PollerBounds } from './bounds.ts'
import { callbackMessage, encodeCallback } from './callback-message.ts'
import { Lease } from './lease.ts'
import { nextStep, type PollState, type PollStep } from './next-step.ts'
import { latePollDelayMs, type PaceRandom, pollDelayMs, retryDelayMs } from './pace.ts'
import { readPayload, readWorkspaceId } from './payload.ts'
import { progressOf } from './progress.ts'
import type { Semaphore } from './semaphore.ts'
import { type RecordParts, recordLate, recordSettled, recordSubmitted } from './task-records.ts'
import { VendorClient, type VendorClientParts } from './vendor-client.ts'

export interface TaskRunParts extends RecordParts, VendorClientParts {
  readonly tail: Pick<LedgerTail, 'ledger'>
  /** Knows tasks that ended before this process followed the log. */
  readonly recentTasks: Pick<RecentTasks, 'find'>
  /** Null where no callbacks are sent. */
  readonly callbacks: Pick<WorkQueue, 'put'> | null
  readonly payloadReads: Semaphore
  /** Of steps that fail because the log, or the queue, does not answer: thousands do so at once. */
  readonly logTrouble: ThrottledWarning
  readonly clock: Clock
  readonly steadyMs: () => number
  readonly random: PaceRandom
  readonly bounds: PollerBounds
}

type TaskStanding = { -readonly [Name in keyof PollState]: PollState[Name] } & { task: Task | null }
type WorkStep = Exclude<PollStep, { type: 'wait' }>

/** Still recorded when the poller stops: a result must not be fetched twice. */
const lastWords: ReadonlySet<PollStep['type']> = new Set(['record_submitted', 'settle', 'record_late'])

const longestSleepMs = 3_600_000 // A timer above 2^31 ms would fire at once.

const lostRequest = 'The gateway lost the request before the vendor had it. Nothing was charged.'

/** One task, from the moment its item is in hand until it is done or another process has it. */
export class TaskRun {
  readonly taskId: string
  readonly #parts: TaskRunParts
  readonly #state: TaskStanding
  readonly #line: VendorClient
  #lease: Lease
  /** Undefined until the payload was read. */
  #callbackUrl: string | null | undefined
  /** A submit of another process, or one whose end is not known, may have reached the vendor. */
  #inDoubt: boolean
  #failures = 0
  #missingSinceMs: number | null = null
  #stopping = false
  #left = false
  #wakeSleep: (() => void) | null = null

  constructor(item: WorkItem, parts: TaskRunParts) {
    const { tail, bounds, random } = parts
    const nowMs = parts.steadyMs()
    const task = tail.ledger.tasks.get(item.id) ?? null
    const again = item.deliveries > 1
    this.taskId = item.id
    this.#parts = parts
    this.#line = new VendorClient(parts)
    this.#lease = new Lease(item, bounds.queueLeaseMs, nowMs)
    this.#inDoubt = again
    this.#state = {
      task,
      deliveries: item.deliveries,
      holdUntilMs: nowMs + item.putMs + bounds.taskHoldWaitMs - parts.clock(),
      absentMs: null,
      findFromMs: again ? nowMs + bounds.taskDoubtMs : null,
      vendorTaskId: null,
      submittedRecorded: false,
      failure: null,
      verdict: null,
      verdictRecorded: false,
      callbackQueued: false,
      lateUntilMs: Number.POSITIVE_INFINITY,
      // The tasks of a process that died come together.
      notBeforeMs: (task?.vendorTaskId ?? null) === null ? nowMs : nowMs + random() * bounds.taskPollMs,
    }
  }

  async run(): Promise<void> {
    while (!this.#left) {
      this.#checkLease()
      const step = nextStep(this.#state, this.#parts.steadyMs())
      if (this.#stopping && !lastWords.has(step.type)) break
      if (step.type === 'wait') await this.#sleepUntil(step.untilMs)
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
    if (task !== null) this.#refreshTask(task, event.type)
    else if (event.type === 'TaskSettled' || event.type === 'LateVerdictSeen') {
      this.#state.verdictRecorded = true
      this.#wake()
    }
  }

  keepLease(): void {
    const { bounds, logger, steadyMs } = this.#parts
    this.#checkLease()
    try {
      this.#lease.renewIfDue(steadyMs(), bounds.queueRenewMs)
    } catch (fault) {
      logger.warn({ fault, taskId: this.taskId }, 'the lease of a task was not renewed; it is tried again')
    }
  }

  /** Returns the item at once; the result of a call under way is still recorded. */
  returnLease(): void {
    this.#stopping = true
    this.#lease.item.again(0)
    this.#wake()
  }

  get #task(): Task {
    const { task } = this.#state
    if (task === null) throw new Error('a task that the log does not know has no such step')
    return task
  }

  /** Another process may have the item too: both continue, and neither submits before a query. */
  #checkLease(): void {
    const { bounds, steadyMs } = this.#parts
    if (this.#stopping || !this.#lease.isLost(steadyMs())) return
    this.#renewLease(this.#lease.item, steadyMs() - bounds.queueRenewMs)
  }

  #renewLease(item: WorkItem, renewedMs: number): void {
    const { bounds, steadyMs } = this.#parts
    this.#lease = new Lease(item, bounds.queueLeaseMs, renewedMs)
    this.#inDoubt = true
    this.#state.deliveries = item.deliveries
    this.#state.findFromMs = steadyMs() + bounds.taskDoubtMs
    this.#wake()
  }

  #refreshTask(task: Task, type: Applied['event']['type']): void {
    const { clock, steadyMs, bounds } = this.#parts
    const standing = this.#state
    standing.task = task
    if (isEnded(task))
      standing.lateUntilMs = steadyMs() + (task.finishedMs ?? clock()) + bounds.lateVerdictWindowMs - clock()
    else if (type === 'TaskProgressed' || (type === 'TaskSubmitted' && standing.vendorTaskId !== null)) return
    standing.notBeforeMs = steadyMs()
    this.#failures = 0
    this.#wake()
  }

  #wake(): void {
    this.#wakeSleep?.()
    this.#line.cancel()
  }

  #sleepUntil(untilMs: number): Promise<void> {
    const delayMs = Math.max(0, Math.min(longestSleepMs, Math.ceil(untilMs - this.#parts.steadyMs())))
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#wakeSleep = null
        resolve()
      }
      const timer = setTimeout(wake, delayMs)
      this.#wakeSleep = wake
    })
  }

  async #attempt(step: WorkStep): Promise<void> {
    try {
      await this.#take(step)
    } catch (fault) {
      this.#logFailure(step, fault)
      this.#backOff(null)
    }
  }

  #logFailure(step: WorkStep, fault: unknown): void {
    const { logger, logTrouble } = this.#parts
    const fields = { fault, taskId: this.taskId, step: step.type }
    const isAway = fault instanceof GatewayError && fault.code === 'log_unavailable'
    if (isAway) logTrouble.raise(fields, 'steps of tasks wait for the log')
    else logger.warn(fields, 'a step of a task failed; it is retried')
  }

  #take(step: WorkStep): Promise<void> {
    switch (step.type) {
      case 'look_up':
        return this.#lookUp()
      case 'drop':
        return this.#drop()
      case 'submit':
        return this.#submit()
      case 'find':
        return this.#find()
      case 'query':
        return this.#query(step.vendorTaskId)
      case 'record_submitted':
        return this.#recordSubmitted(step.vendorTaskId)
      case 'settle':
        return this.#recordVerdict(recordSettled(this.#parts, this.#task, step.verdict))
      case 'record_late':
        return this.#recordVerdict(recordLate(this.#parts, this.#task, step.verdict))
      case 'queue_callback':
        return this.#queueCallback()
      case 'finish':
        return this.#finish()
    }
  }

  async #lookUp(): Promise<void> {
    const askedMs = this.#parts.steadyMs()
    const workspaceId = await this.#read(readWorkspaceId)
    const task = workspaceId === null ? null : await this.#parts.recentTasks.find(workspaceId, this.taskId)
    if (task === null) this.#state.absentMs = askedMs
    else this.#refreshTask(task, 'HoldPlaced')
  }

  async #drop(): Promise<void> {
    this.#parts.logger.warn({ taskId: this.taskId }, 'a request for a video whose hold never came is dropped')
    await this.#finish()
  }

  async #submit(): Promise<void> {
    const task = this.#task
    const answer = await this.#line.submit(
      task,
      () => this.#readPayload(task),
      () => this.#isCurrent('submit'),
    )
    if (answer === 'lost') this.#onRequestLost()
    else if (answer !== null) this.#onSubmitted(answer)
  }

  #onRequestLost(): void {
    const { logger } = this.#parts
    logger.error({ taskId: this.taskId }, 'a request for a video is gone, or is not the one that was ordered: it fails')
    this.#state.failure = { reason: lostRequest, code: null }
  }

  #onSubmitted(answer: SubmittedTask): void {
    const { bounds, steadyMs } = this.#parts
    const standing = this.#state
    switch (answer.type) {
      case 'accepted':
        this.#failures = 0
        standing.vendorTaskId = answer.vendorTaskId
        return
      case 'refused':
        // The vendor may refuse the id because it has the task, by an earlier submit that may still be on its way.
        standing.failure = {
          reason: answer.message.slice(0, sharedLimits.upstreamMessageCharactersMax),
          code: answer.code,
        }
        standing.findFromMs = steadyMs() + (this.#inDoubt ? bounds.taskDoubtMs : 0)
        return
      case 'busy':
        this.#backOff(answer.retryAfterMs)
        return
      case 'unknown':
        this.#inDoubt = true
        standing.findFromMs = steadyMs() + bounds.taskDoubtMs
    }
  }

  async #find(): Promise<void> {
    const lease = this.#lease
    const told = await this.#line.find(this.#task)
    switch (told?.type) {
      case 'open':
      case 'ended':
        return this.#onFound(told)
      case 'not_found':
        return this.#onUnknown(lease)
      case 'busy':
        return this.#backOff(told.retryAfterMs)
      case 'unknown':
        return this.#backOff(null)
    }
  }

  /** The vendor never had it, unless another process could submit since the query. */
  #onUnknown(lease: Lease): void {
    this.#failures = 0
    if (lease === this.#lease) this.#state.findFromMs = null
  }

  #onFound(told: VendorStatus & { type: 'open' | 'ended' }): void {
    const standing = this.#state
    this.#failures = 0
    standing.findFromMs = null
    if (told.type === 'ended') standing.verdict = told.verdict
    standing.vendorTaskId = told.type === 'ended' ? told.verdict.vendorTaskId : told.vendorTaskId
  }

  async #query(vendorTaskId: string): Promise<void> {
    const told = await this.#line.query(this.#task, vendorTaskId)
    if (told === null) return
    if (told.type !== 'not_found') this.#missingSinceMs = null
    switch (told.type) {
      case 'open':
        return this.#onOpen(told.status)
      case 'ended':
        this.#state.verdict = told.verdict
        return
      case 'not_found':
        return this.#onMissing()
      case 'busy':
        return this.#backOff(told.retryAfterMs)
      case 'unknown':
        return this.#backOff(null)
    }
  }

  async #onOpen(status: 'SUBMITTED' | 'IN_PROGRESS' | null): Promise<void> {
    const { log, clock } = this.#parts
    const task = this.#task
    this.#failures = 0
    this.#state.notBeforeMs = this.#parts.steadyMs() + this.#paceMs()
    const fact = isEnded(task) ? null : progressOf(task, status, clock())
    if (fact !== null) await log.append([fact])
  }

  /** No answer is no failure: the deadline ends what the vendor has forgotten. */
  #onMissing(): void {
    const { steadyMs, bounds, logger } = this.#parts
    this.#missingSinceMs ??= steadyMs()
    if (steadyMs() - this.#missingSinceMs >= bounds.taskMissingMs) {
      this.#missingSinceMs = Number.POSITIVE_INFINITY
      logger.warn({ taskId: this.taskId }, 'the video vendor does not know a task that it took; it is asked again')
    }
    this.#backOff(null)
  }

  async #recordSubmitted(vendorTaskId: string): Promise<void> {
    await recordSubmitted(this.#parts, this.#task, vendorTaskId)
    this.#state.submittedRecorded = true
    this.#state.notBeforeMs = this.#parts.steadyMs() + this.#paceMs()
  }

  async #recordVerdict(recorded: Promise<void>): Promise<void> {
    await recorded
    this.#state.verdictRecorded = true
  }

  async #queueCallback(): Promise<void> {
    const { callbacks } = this.#parts
    const task = this.#task
    if (callbacks !== null) {
      const url = await this.#readCallbackUrl(task)
      if (url !== null) await callbacks.put(this.taskId, encodeCallback(callbackMessage(task, url)))
    }
    this.#state.callbackQueued = true
  }

  async #readCallbackUrl(task: Task): Promise<string | null> {
    if (this.#callbackUrl !== undefined) return this.#callbackUrl
    const payload = await this.#readPayload(task)
    if (payload !== null) return payload.callbackUrl
    this.#parts.logger.error({ taskId: this.taskId }, 'the request of a task that ended is gone: nobody is called back')
    return null
  }

  /** The item may have come again meanwhile: that is done too. */
  async #finish(): Promise<void> {
    for (let done: Lease | null = null; done !== this.#lease; ) {
      done = this.#lease
      await done.item.done()
    }
    this.#left = true
  }

  #isCurrent(type: PollStep['type']): boolean {
    this.#checkLease()
    return !this.#stopping && nextStep(this.#state, this.#parts.steadyMs()).type === type
  }

  /** The payload is kept no longer than it is needed: there may be thousands. */
  async #readPayload(task: Task): Promise<TaskPayload | null> {
    const payload = await this.#read((bytes) => readPayload(bytes, task.payloadDigest))
    if (payload !== null) this.#callbackUrl = payload.callbackUrl
    return payload
  }

  #read<T>(read: (bytes: Uint8Array | null) => T): Promise<T> {
    return this.#parts.payloadReads.run(async () => read(await this.#lease.item.bytes()))
  }

  #paceMs(): number {
    const { bounds, random, clock } = this.#parts
    const { finishedMs, submittedMs } = this.#task
    if (finishedMs !== null) return latePollDelayMs(clock() - finishedMs, bounds, random)
    return pollDelayMs(submittedMs === null ? 0 : clock() - submittedMs, bounds, random)
  }

  #backOff(retryAfterMs: number | null): void {
    const { bounds, random, steadyMs } = this.#parts
    const { task, callbackQueued, verdict } = this.#state
    this.#failures += 1
    const delayMs = retryDelayMs(this.#failures, retryAfterMs, bounds, random)
    const isLate = task !== null && isEnded(task) && callbackQueued && verdict === null
    this.#state.notBeforeMs = steadyMs() + (isLate ? Math.max(delayMs, this.#paceMs()) : delayMs)
  }
}
