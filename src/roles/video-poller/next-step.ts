import type { VideoVerdict } from '../../domain/video/settle.ts'
import { isEnded, type Task } from '../../domain/video/task.ts'

export type VendorVerdict = VideoVerdict & { readonly vendorTaskId: string }

interface VendorCallFailure {
  readonly reason: string
  /** The vendor's error code; null where the fault is ours. */
  readonly code: number | null
}

/** All that a task's next step is decided from. Instants are milliseconds of the steady clock. */
export interface PollState {
  /** As in the ledger, open or ended; null where it has none, or not yet. */
  readonly task: Pick<Task, 'status' | 'vendorTaskId'> | null
  /** How often the item was handed out, this time included. */
  readonly deliveries: number
  /** A hold that has not come by then never comes. */
  readonly holdUntilMs: number
  /** When the log, read to its end, last had no such task; null: not checked. */
  readonly absentMs: number | null
  /** A submit of another process, or one whose outcome is not known, may have reached the vendor. */
  readonly inDoubt: boolean
  /** Set while the vendor is to be asked for the task before anything else is done: not before then. */
  readonly findFromMs: number | null
  readonly vendorTaskId: string | null
  readonly submittedRecorded: boolean
  readonly failure: VendorCallFailure | null
  readonly failureRecorded: boolean
  readonly verdict: VendorVerdict | null
  readonly verdictRecorded: boolean
  readonly callbackQueued: boolean
  /** The vendor was asked after the time for a late verdict was over. */
  readonly askedLast: boolean
  readonly notBeforeMs: number
}

export type PollStep =
  | { readonly type: 'wait'; readonly untilMs: number }
  | { readonly type: 'look_up' }
  | { readonly type: 'drop' }
  | { readonly type: 'submit' }
  | { readonly type: 'find' }
  | { readonly type: 'query'; readonly vendorTaskId: string }
  | { readonly type: 'record_submitted'; readonly vendorTaskId: string }
  | { readonly type: 'settle'; readonly verdict: VideoVerdict }
  | { readonly type: 'record_late'; readonly verdict: VendorVerdict }
  | { readonly type: 'queue_callback' }
  | { readonly type: 'finish' }

type Known = NonNullable<PollState['task']>

const wait = (untilMs: number): PollStep => ({ type: 'wait', untilMs })

const failed = ({ reason, code }: VendorCallFailure): VideoVerdict => ({
  outcome: 'FAILURE',
  vendorTaskId: null,
  deduction: null,
  failReason: reason,
  vendorCode: code,
  results: [],
})

/**
 * A task that is not open in the ledger has no hold yet, never gets one, or has ended: before this process began to
 * follow the log, or before the item came. The tables have the ended ones. They are queried at once about an item that
 * was handed out before, and about any other once its hold is overdue; only then is an unknown task taken for a payload
 * without a hold.
 */
const awaitHold = ({ deliveries, holdUntilMs, absentMs }: PollState, nowMs: number): PollStep => {
  if (absentMs !== null && absentMs >= holdUntilMs) return { type: 'drop' }
  if (nowMs >= holdUntilMs) return { type: 'look_up' }
  return deliveries > 1 && absentMs === null ? { type: 'look_up' } : wait(holdUntilMs)
}

const find = (findFromMs: number, nowMs: number): PollStep => (nowMs < findFromMs ? wait(findFromMs) : { type: 'find' })

/** Submits the task once, then polls it. */
const towardsEnd = (state: PollState, task: Known, nowMs: number): PollStep => {
  const { verdict, verdictRecorded, failure, failureRecorded, findFromMs, submittedRecorded } = state
  if (verdictRecorded || failureRecorded) return wait(Number.POSITIVE_INFINITY) // Until the tail delivers it.
  if (verdict !== null) return { type: 'settle', verdict }
  const vendorTaskId = task.vendorTaskId ?? state.vendorTaskId
  if (vendorTaskId !== null)
    return task.vendorTaskId === null && !submittedRecorded
      ? { type: 'record_submitted', vendorTaskId }
      : { type: 'query', vendorTaskId }
  if (findFromMs !== null) return find(findFromMs, nowMs)
  return failure === null ? { type: 'submit' } : { type: 'settle', verdict: failed(failure) }
}

/**
 * The callback goes first. The item, by which another process would continue, stays until the vendor's verdict is in the log, or
 * none is to come: no submit can have reached the vendor, or it has none of the task once all from before the end have timed out.
 */
const afterEnd = (state: PollState, task: Known, nowMs: number): PollStep => {
  if (!state.callbackQueued) return { type: 'queue_callback' }
  const { verdict, verdictRecorded, askedLast, findFromMs, inDoubt } = state
  if (verdictRecorded) return { type: 'finish' }
  if (verdict !== null) return { type: 'record_late', verdict }
  if (askedLast) return { type: 'finish' }
  const vendorTaskId = task.vendorTaskId ?? state.vendorTaskId
  if (vendorTaskId !== null) return { type: 'query', vendorTaskId }
  return inDoubt && findFromMs !== null ? find(findFromMs, nowMs) : { type: 'finish' }
}

export const nextStep = (state: PollState, nowMs: number): PollStep => {
  const { task, notBeforeMs } = state
  if (nowMs < notBeforeMs) return wait(notBeforeMs)
  if (task === null) return awaitHold(state, nowMs)
  return isEnded(task) ? afterEnd(state, task, nowMs) : towardsEnd(state, task, nowMs)
}
