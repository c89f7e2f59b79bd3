import { createHash } from 'node:crypto'
import type { TaskPayload } from '../../domain/video/request.ts'
import type { Task } from '../../domain/video/task.ts'
import { asObject, asText, parseJson } from '../../encoding/json.ts'
import { GatewayError, logUnavailable } from '../../errors/gateway-error.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { EventLog } from '../../log/event-log.ts'
import { type LedgerTail, waitForLogEnd } from '../../log/ledger-tail.ts'
import type { Semaphore } from '../../runtime/semaphore.ts'
import type { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import type { RecentTasks } from '../recent-tasks.ts'
import type { WorkItem, WorkQueue } from '../work-queue.ts'
import { callbackMessage, encodeCallback } from './callback-message.ts'
import type { PollStep } from './next-step.ts'
import type { PollEvent } from './poll-event.ts'
import { type RecordParts, recordLate, recordSettled } from './task-records.ts'
import { VendorClient, type VendorClientParts } from './vendor-client.ts'

const decoder = new TextDecoder()

/** The text is a caller's: an error must not quote it. */
const parsePayload = (text: string): TaskPayload | null => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The request as it was submitted; null where the bytes are missing or do not match the order's digest. */
const readPayload = (bytes: Uint8Array | null, digest: string): TaskPayload | null => {
  if (bytes === null || createHash('sha256').update(bytes).digest('hex') !== digest) return null
  return parsePayload(decoder.decode(bytes))
}

const readWorkspaceId = (bytes: Uint8Array | null): string | null =>
  (bytes === null ? '' : asText(asObject(parseJson(decoder.decode(bytes)))['workspaceId'])) || null

const unknownWorkspace = ''

export interface TaskStepParts extends RecordParts, VendorClientParts {
  readonly log: RecordParts['log'] & Pick<EventLog, 'lastSequence'>
  readonly tail: Pick<LedgerTail, 'waitForSequence'>
  /** Knows tasks that ended before this process followed the log. */
  readonly recentTasks: Pick<RecentTasks, 'find'>
  /** Null where no callbacks are sent. */
  readonly callbacks: Pick<WorkQueue, 'put'> | null
  readonly payloadReads: Semaphore
  /** Of steps that fail because the log, or the queue, does not answer: thousands do so at once. */
  readonly logUnavailableWarning: ThrottledWarning
  readonly steadyMs: () => number
}

type TaskStep =
  | Exclude<PollStep, { type: 'wait' | 'drop' | 'finish' }>
  | { readonly type: 'record_progress'; readonly fact: FactOf<'TaskProgressed'> }

interface HeldItem {
  readonly taskId: string
  /** As it is held then. */
  readonly lease: () => { readonly item: WorkItem }
  readonly isNext: (step: PollStep['type']) => boolean
}

const orNothing = (event: PollEvent | null): PollEvent => event ?? { type: 'nothing_new' }

/** Carries out the steps of one task: at its vendor, in the log and in the queues. */
export class TaskSteps {
  readonly #held: HeldItem
  readonly #parts: TaskStepParts
  readonly #vendor: VendorClient
  /** Undefined until the payload was read. */
  #callbackUrl: string | null | undefined

  constructor(held: HeldItem, parts: TaskStepParts) {
    this.#held = held
    this.#parts = parts
    this.#vendor = new VendorClient(parts)
  }

  /** Gives up waiting for a turn at the vendor. */
  cancel(): void {
    this.#vendor.cancel()
  }

  async attempt(step: string, perform: () => Promise<PollEvent>): Promise<PollEvent> {
    try {
      return await perform()
    } catch (fault) {
      const fields = { fault, taskId: this.#held.taskId, step }
      const isAway = fault instanceof GatewayError && fault.code === 'log_unavailable'
      if (isAway) this.#parts.logUnavailableWarning.raise('video.steps_waiting', fields)
      else this.#parts.logger.log('video.step_failed', fields)
      return { type: 'step_failed' }
    }
  }

  async perform(step: TaskStep, task: Task | null): Promise<PollEvent> {
    if (step.type === 'look_up') return this.#lookUp()
    if (task === null) throw new Error('a task that is not in the log has no such step')
    switch (step.type) {
      case 'submit':
        return this.#submit(task)
      case 'find': {
        const lease = this.#held.lease()
        const { mayBeShared } = lease.item
        const status = await this.#vendor.find(task)
        const leaseKept = lease === this.#held.lease() && lease.item.mayBeShared === mayBeShared
        return orNothing(status && { type: 'find_answered', status, leaseKept })
      }
      case 'query': {
        const status = await this.#vendor.query(task, step.vendorTaskId)
        return orNothing(status && { type: 'query_answered', status })
      }
      case 'record_submitted':
        await this.#recordSubmitted(task, step.vendorTaskId)
        return { type: 'submit_recorded' }
      case 'record_progress':
        await this.#parts.log.append([step.fact])
        return { type: 'nothing_new' }
      case 'settle':
        if (step.verdict.vendorTaskId === null && !(await this.#isStillRefused())) return { type: 'nothing_new' }
        await recordSettled(this.#parts, task, step.verdict)
        return { type: 'verdict_recorded' }
      case 'record_late':
        await recordLate(this.#parts, task, step.verdict)
        return { type: 'verdict_recorded' }
      case 'queue_callback':
        await this.#queueCallback(task)
        return { type: 'callback_queued' }
    }
  }

  async #lookUp(): Promise<PollEvent> {
    const askedMs = this.#parts.steadyMs()
    const workspaceId = await this.#read(unknownWorkspace, readWorkspaceId)
    const task = workspaceId === null ? null : await this.#parts.recentTasks.find(workspaceId, this.#held.taskId)
    return { type: 'looked_up', task, askedMs }
  }

  async #submit(task: Task): Promise<PollEvent> {
    const answer = await this.#vendor.submit(
      task,
      () => this.#readRequest(task),
      () => this.#held.isNext('submit'),
    )
    if (answer !== 'lost') return orNothing(answer && { type: 'submit_answered', answer })
    this.#parts.logger.log('video.request_lost', { taskId: this.#held.taskId })
    return { type: 'request_lost' }
  }

  /** Another process may have ended the task, and be done with the item: nothing of it is submitted any more. */
  async #readRequest(task: Task): Promise<TaskPayload | null> {
    if (this.#held.lease().item.mayBeShared) await waitForLogEnd(this.#parts, logUnavailable)
    return this.#readPayload(task)
  }

  /** Another process may have submitted it, and been accepted, while this one could not reach the log. */
  async #isStillRefused(): Promise<boolean> {
    const { mayBeShared } = this.#held.lease().item
    await waitForLogEnd(this.#parts, logUnavailable)
    return this.#held.lease().item.mayBeShared === mayBeShared && this.#held.isNext('settle')
  }

  async #recordSubmitted({ taskId, workspaceId }: Task, vendorTaskId: string): Promise<void> {
    await this.#parts.log.append([{ type: 'TaskSubmitted', data: { taskId, workspaceId, vendorTaskId } }])
  }

  async #queueCallback(task: Task): Promise<void> {
    const { callbacks } = this.#parts
    if (callbacks === null) return
    const url = await this.#readCallbackUrl(task)
    if (url !== null) await callbacks.put(this.#held.taskId, encodeCallback(callbackMessage(task, url)))
  }

  async #readCallbackUrl(task: Task): Promise<string | null> {
    if (this.#callbackUrl !== undefined) return this.#callbackUrl
    const payload = await this.#readPayload(task)
    if (payload !== null) return payload.callbackUrl
    this.#parts.logger.log('video.callback_url_lost', { taskId: this.#held.taskId })
    return null
  }

  /** The payload is kept no longer than it is needed: there may be thousands. */
  async #readPayload(task: Task): Promise<TaskPayload | null> {
    const payload = await this.#read(task.workspaceId, (bytes) => readPayload(bytes, task.payloadDigest))
    if (payload !== null) this.#callbackUrl = payload.callbackUrl
    return payload
  }

  #read<T>(workspaceId: string, read: (bytes: Uint8Array | null) => T): Promise<T> {
    return this.#parts.payloadReads.run(workspaceId, async () => read(await this.#held.lease().item.bytes()))
  }
}
