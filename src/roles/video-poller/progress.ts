import type { Task } from '../../domain/video/task.ts'
import type { FactOf } from '../../events/envelope.ts'

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
