import type { Task } from '../../domain/video/task.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { PollerBounds } from './bounds.ts'
import { pollerLimits } from './limits.ts'

export type PaceRandom = () => number

const pollSpread = 0.1

/** The older the task, the rarer the polls; jitter keeps tasks from polling in step. */
const spaced = (ageMs: number, leastMs: number, mostMs: number, random: PaceRandom): number => {
  const delayMs = Math.min(mostMs, Math.max(leastMs, ageMs / pollerLimits.taskPollAgeDivisor))
  return delayMs * (1 - pollSpread + 2 * pollSpread * random())
}

export const pollDelayMs = (
  ageMs: number,
  { taskPollMs, taskPollMaxMs }: Pick<PollerBounds, 'taskPollMs' | 'taskPollMaxMs'>,
  random: PaceRandom,
): number => spaced(ageMs, taskPollMs, taskPollMaxMs, random)

export const latePollDelayMs = (
  ageMs: number,
  { latePollMs, latePollMaxMs }: Pick<PollerBounds, 'latePollMs' | 'latePollMaxMs'>,
  random: PaceRandom,
): number => spaced(ageMs, latePollMs, latePollMaxMs, random)

/** Until the next poll of a task that the vendor works on, or has forgotten. */
export const nextPollDelayMs = (
  task: Pick<Task, 'submittedMs' | 'finishedMs'> | null,
  nowMs: number,
  bounds: PollerBounds,
  random: PaceRandom,
): number => {
  const { finishedMs, submittedMs } = task ?? { finishedMs: null, submittedMs: null }
  if (finishedMs !== null) return latePollDelayMs(nowMs - finishedMs, bounds, random)
  return pollDelayMs(submittedMs === null ? 0 : nowMs - submittedMs, bounds, random)
}

/** Until the next try, after `failures` failed tries in a row, the last of which may have named its own delay. */
export const retryDelayMs = (
  failures: number,
  retryAfterMs: number | null,
  {
    taskRetryMs,
    taskRetryMaxMs,
    taskRetryAfterMaxMs,
  }: Pick<PollerBounds, 'taskRetryMs' | 'taskRetryMaxMs' | 'taskRetryAfterMaxMs'>,
  random: PaceRandom,
): number => {
  const backOffMs = Math.min(taskRetryMaxMs, taskRetryMs * 2 ** Math.min(failures - 1, 30)) * (0.5 + random() / 2)
  return Math.max(backOffMs, Math.min(retryAfterMs ?? 0, taskRetryAfterMaxMs) * (1 + pollSpread * random()))
}

/** The vendor reports no percentage, and an event for every poll would add nothing. */
const marks: readonly { readonly fromMs: number; readonly percent: number }[] = [
  { fromMs: 0, percent: 30 },
  { fromMs: 15_000, percent: 50 },
  { fromMs: 45_000, percent: 70 },
  { fromMs: 150_000, percent: 90 },
]

const percentAfter = (ms: number): number => marks.findLast(({ fromMs }) => ms >= fromMs)?.percent ?? 30

/** Null where the vendor's state changes nothing. Milliseconds since the epoch. */
export const progressOf = (
  task: Pick<Task, 'taskId' | 'workspaceId' | 'status' | 'progress' | 'startedMs'>,
  status: 'SUBMITTED' | 'IN_PROGRESS' | null,
  nowMs: number,
): FactOf<'TaskProgressed'> | null => {
  if (status !== 'IN_PROGRESS') return null
  const { taskId, workspaceId, startedMs } = task
  const progress = percentAfter(nowMs - (startedMs ?? nowMs))
  if (task.status === 'IN_PROGRESS' && progress <= task.progress) return null
  return { type: 'TaskProgressed', data: { taskId, workspaceId, status, progress } }
}
