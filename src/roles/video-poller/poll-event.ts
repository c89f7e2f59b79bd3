import { isEnded, type Task } from '../../domain/video/task.ts'
import type { Event, FactOf } from '../../events/envelope.ts'
import type { SubmittedTask, VendorStatus } from '../../providers/vv-video/vendor.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { PollerBounds } from './bounds.ts'
import type { PollState } from './next-step.ts'
import { nextPollDelayMs, progressOf, retryDelayMs } from './pace.ts'

export interface TaskPollState extends PollState {
  readonly task: Task | null
  /** Asked since the last submit, or the end, the vendor had no such task. */
  readonly vendorHasNone: boolean
  readonly failures: number
  /** Since when the vendor does not know a task that it took; infinite once that is reported. */
  readonly missingSinceMs: number | null
  readonly lateUntilMs: number
  /** The item was returned: no step begins any more, but for a result's. */
  readonly stopping: boolean
}

interface PollMoment {
  readonly steadyMs: number
  /** Since the epoch. */
  readonly nowMs: number
  /** From 0 to 1, for the jitter of what is decided then. */
  readonly chance: number
  /** Another process may have the item, too. */
  readonly mayBeShared: boolean
}

export type PollEvent =
  | { readonly type: 'lease_returned' }
  | { readonly type: 'lease_renewed'; readonly deliveries: number }
  | {
      readonly type: 'task_changed'
      readonly task: Task | null
      readonly change: Event['type']
      readonly hasVerdict: boolean
    }
  | { readonly type: 'looked_up'; readonly task: Task | null; readonly askedMs: number }
  | { readonly type: 'submit_answered'; readonly answer: SubmittedTask }
  | { readonly type: 'request_lost' }
  /** `leaseKept`: no other process could submit since the query. */
  | { readonly type: 'find_answered'; readonly status: VendorStatus; readonly leaseKept: boolean }
  | { readonly type: 'query_answered'; readonly status: VendorStatus }
  | { readonly type: 'submit_recorded' | 'verdict_recorded' | 'callback_queued' | 'step_failed' }
  /** The step was done, or was not wanted any more. */
  | { readonly type: 'nothing_new' }

type PollEffect =
  /** A step that waits, for its time or for its turn at the vendor, is decided again. */
  | { readonly type: 'wake' | 'warn_missing' }
  | { readonly type: 'record_progress'; readonly fact: FactOf<'TaskProgressed'> }

interface PollTransition {
  readonly state: TaskPollState
  readonly effects: readonly PollEffect[]
}

const lostRequest = 'The gateway lost the request before the vendor had it. Nothing was charged.'

const wake: readonly PollEffect[] = [{ type: 'wake' }]

const then = (
  state: TaskPollState,
  changes: Partial<TaskPollState>,
  effects: readonly PollEffect[] = [],
): PollTransition => ({ state: { ...state, ...changes }, effects })

const backOff = (
  state: TaskPollState,
  retryAfterMs: number | null,
  at: PollMoment,
  bounds: PollerBounds,
): PollTransition => {
  const { task, callbackQueued, verdict } = state
  const failures = state.failures + 1
  const delayMs = retryDelayMs(failures, retryAfterMs, bounds, () => at.chance)
  const isLate = task !== null && isEnded(task) && callbackQueued && verdict === null
  const untilMs =
    at.steadyMs +
    (isLate
      ? Math.max(
          delayMs,
          nextPollDelayMs(state.task, at.nowMs, bounds, () => at.chance),
        )
      : delayMs)
  return then(state, { failures, notBeforeMs: untilMs })
}

/** Otherwise a submit was refused, which leaves its code, or its request was lost: another submit may be with the vendor. */
const hasVendorVerdict = ({ source, vendorTaskId, vendorCode }: Task): boolean =>
  source !== null && vendorTaskId !== null && vendorCode === null

const refreshTask = (
  state: TaskPollState,
  task: Task,
  change: Event['type'],
  { steadyMs, nowMs }: PollMoment,
  { lateVerdictWindowMs, taskDoubtMs }: PollerBounds,
): PollTransition => {
  const fresh = { task, failures: 0, notBeforeMs: steadyMs }
  if (isEnded(task))
    return then(
      state,
      {
        ...fresh,
        lateUntilMs: steadyMs + (task.finishedMs ?? nowMs) + lateVerdictWindowMs - nowMs,
        verdictRecorded: state.verdictRecorded || hasVendorVerdict(task),
        findFromMs: steadyMs + taskDoubtMs,
        vendorHasNone: false,
      },
      wake,
    )
  const isOwn = change === 'TaskProgressed' || (change === 'TaskSubmitted' && state.vendorTaskId !== null)
  return isOwn ? then(state, { task }) : then(state, fresh, wake)
}

/** The ledger drops a task once its verdict is recorded. */
const onTaskChanged = (
  state: TaskPollState,
  { task, change, hasVerdict }: Extract<PollEvent, { type: 'task_changed' }>,
  at: PollMoment,
  bounds: PollerBounds,
): PollTransition => {
  if (task !== null) return refreshTask(state, task, change, at, bounds)
  return hasVerdict ? then(state, { verdictRecorded: true }, wake) : then(state, {})
}

const onSubmitAnswered = (
  state: TaskPollState,
  answer: SubmittedTask,
  at: PollMoment,
  bounds: PollerBounds,
): PollTransition => {
  const doubtedUntilMs = at.steadyMs + bounds.taskDoubtMs
  switch (answer.type) {
    case 'accepted':
      return then(state, { failures: 0, vendorTaskId: answer.vendorTaskId })
    case 'refused': {
      // The vendor may refuse the id because it has the task, by another submit that may still be on its way.
      const reason = answer.message.slice(0, sharedLimits.upstreamMessageCharactersMax)
      const findFromMs = state.inDoubt ? doubtedUntilMs : at.steadyMs
      return then(state, { failure: { reason, code: answer.code }, findFromMs })
    }
    case 'busy':
      return backOff(state, answer.retryAfterMs, at, bounds)
    case 'unknown':
      return then(state, { inDoubt: true, findFromMs: doubtedUntilMs, vendorHasNone: false })
  }
}

/** No submit follows the end, whose answer would correct the vendor: it is asked once more. */
const onNotFound = (state: TaskPollState, at: PollMoment, bounds: PollerBounds): PollTransition => {
  const isLast = state.vendorHasNone || state.task === null || !isEnded(state.task)
  const findFromMs = isLast ? null : at.steadyMs + nextPollDelayMs(state.task, at.nowMs, bounds, () => at.chance)
  return then(state, { failures: 0, findFromMs, vendorHasNone: true })
}

const onFindAnswered = (
  state: TaskPollState,
  status: VendorStatus,
  leaseKept: boolean,
  at: PollMoment,
  bounds: PollerBounds,
): PollTransition => {
  switch (status.type) {
    case 'open':
      return then(state, { failures: 0, findFromMs: null, vendorTaskId: status.vendorTaskId })
    case 'ended': {
      const { verdict } = status
      return then(state, { failures: 0, findFromMs: null, vendorTaskId: verdict.vendorTaskId, verdict })
    }
    case 'not_found':
      return leaseKept ? onNotFound(state, at, bounds) : then(state, { failures: 0 })
    case 'busy':
      return backOff(state, status.retryAfterMs, at, bounds)
    case 'unknown':
      return backOff(state, null, at, bounds)
  }
}

/** No answer is no failure: the deadline ends what the vendor has forgotten. */
const onMissing = (state: TaskPollState, at: PollMoment, bounds: PollerBounds): PollTransition => {
  const sinceMs = state.missingSinceMs ?? at.steadyMs
  const isLong = at.steadyMs - sinceMs >= bounds.taskMissingMs
  const retry = backOff({ ...state, missingSinceMs: isLong ? Number.POSITIVE_INFINITY : sinceMs }, null, at, bounds)
  return { ...retry, effects: isLong ? [{ type: 'warn_missing' }] : [] }
}

const onQueryAnswered = (
  state: TaskPollState,
  status: VendorStatus,
  at: PollMoment,
  bounds: PollerBounds,
): PollTransition => {
  if (status.type === 'not_found') return onMissing(state, at, bounds)
  const known = { ...state, missingSinceMs: null }
  switch (status.type) {
    case 'open': {
      const { task } = state
      const fact = task === null || isEnded(task) ? null : progressOf(task, status.status, at.nowMs)
      const notBeforeMs = at.steadyMs + nextPollDelayMs(state.task, at.nowMs, bounds, () => at.chance)
      return then(known, { failures: 0, notBeforeMs }, fact === null ? [] : [{ type: 'record_progress', fact }])
    }
    case 'ended':
      return then(known, { verdict: status.verdict })
    case 'busy':
      return backOff(known, status.retryAfterMs, at, bounds)
    case 'unknown':
      return backOff(known, null, at, bounds)
  }
}

/** A verdict that comes before that time and after the look before must not be missed. */
const noteLast = (next: PollTransition, { steadyMs }: PollMoment): PollTransition =>
  steadyMs < next.state.lateUntilMs ? next : then(next.state, { askedLast: true, notBeforeMs: steadyMs }, next.effects)

const transition = (state: TaskPollState, event: PollEvent, at: PollMoment, bounds: PollerBounds): PollTransition => {
  switch (event.type) {
    case 'lease_renewed': {
      const { deliveries } = event
      return then(state, { inDoubt: true, deliveries, findFromMs: at.steadyMs + bounds.taskDoubtMs }, wake)
    }
    case 'lease_returned':
      return then(state, { stopping: true }, wake)
    case 'task_changed':
      return onTaskChanged(state, event, at, bounds)
    case 'looked_up':
      return event.task === null
        ? then(state, { absentMs: event.askedMs })
        : refreshTask(state, event.task, 'HoldPlaced', at, bounds)
    case 'submit_answered':
      return onSubmitAnswered(state, event.answer, at, bounds)
    case 'request_lost':
      return then(state, { failure: { reason: lostRequest, code: null } })
    case 'find_answered':
      return noteLast(onFindAnswered(state, event.status, event.leaseKept, at, bounds), at)
    case 'query_answered':
      return noteLast(onQueryAnswered(state, event.status, at, bounds), at)
    case 'submit_recorded':
      return then(state, {
        submittedRecorded: true,
        notBeforeMs: at.steadyMs + nextPollDelayMs(state.task, at.nowMs, bounds, () => at.chance),
      })
    case 'verdict_recorded':
      return then(state, state.verdict === null ? { failureRecorded: true } : { verdictRecorded: true })
    case 'callback_queued':
      return then(state, { callbackQueued: true })
    case 'step_failed':
      return backOff(state, null, at, bounds)
    case 'nothing_new':
      return then(state, {})
  }
}

/** A failure that is not recorded yet is judged again: another process may submit the task from now on. */
const noteSharing = (state: TaskPollState, at: PollMoment, { taskDoubtMs }: PollerBounds): TaskPollState => {
  if (state.inDoubt || !at.mayBeShared) return state
  return { ...state, inDoubt: true, findFromMs: state.failure === null ? state.findFromMs : at.steadyMs + taskDoubtMs }
}

/** What is known of a task after an event. What is done then is `nextStep`. */
export const nextPollState = (
  state: TaskPollState,
  event: PollEvent,
  at: PollMoment,
  bounds: PollerBounds,
): PollTransition => transition(noteSharing(state, at, bounds), event, at, bounds)

/** As an item comes: `task` is what the ledger has of it by then. The wait depends on no clock of another machine. */
export const beginPolling = (
  deliveries: number,
  task: Task | null,
  { steadyMs, chance, mayBeShared }: PollMoment,
  { taskHoldWaitMs, taskDoubtMs, taskPollMs }: PollerBounds,
): TaskPollState => ({
  task,
  deliveries,
  holdUntilMs: steadyMs + taskHoldWaitMs,
  absentMs: null,
  inDoubt: deliveries > 1 || mayBeShared,
  findFromMs: deliveries > 1 ? steadyMs + taskDoubtMs : null,
  vendorHasNone: false,
  vendorTaskId: null,
  submittedRecorded: false,
  failure: null,
  failureRecorded: false,
  failures: 0,
  missingSinceMs: null,
  verdict: null,
  verdictRecorded: false,
  callbackQueued: false,
  stopping: false,
  lateUntilMs: Number.POSITIVE_INFINITY,
  askedLast: false,
  // The tasks of a process that died come together.
  notBeforeMs: (task?.vendorTaskId ?? null) === null ? steadyMs : steadyMs + chance * taskPollMs,
})
