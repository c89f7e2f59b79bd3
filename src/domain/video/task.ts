import type { Event, EventOf } from '../../events/envelope.ts'
import type { TaskOrder, TaskResult } from '../../events/types.ts'

/** `QUEUED`: accepted by us and not yet by the vendor. It never goes back, and the last two are final. */
export type TaskStatus = 'QUEUED' | 'SUBMITTED' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE'

/** Times are milliseconds since the epoch, of the events that set them. */
export interface Task extends Omit<TaskOrder, 'externalTaskId'> {
  readonly taskId: string
  readonly workspaceId: string
  readonly externalTaskId: string | null
  /** USD. */
  readonly held: string
  readonly queuedMs: number
  readonly deadlineMs: number
  vendorTaskId: string | null
  status: TaskStatus
  /** Percent; 100 once it has ended. */
  progress: number
  submittedMs: number | null
  startedMs: number | null
  finishedMs: number | null
  updatedMs: number
  failReason: string | null
  vendorCode: number | null
  deduction: string | null
  source: 'reported' | 'estimated' | null
  lines: EventOf<'TaskSettled'>['data']['lines']
  /** USD; zero until it is settled, and where it failed. */
  total: string
  results: readonly TaskResult[]
}

export type PlacedTask = EventOf<'HoldPlaced'>
export type TaskEvent = EventOf<'TaskSubmitted'> | EventOf<'TaskProgressed'>

const queuedProgress = 0
const submittedProgress = 10

export const isEnded = ({ status }: Pick<Task, 'status'>): boolean => status === 'SUCCESS' || status === 'FAILURE'

/** The task that a hold was placed for; null for an allowance. */
export const openTask = ({ data, time }: PlacedTask): Task | null => {
  if (data.task === undefined) return null
  const placedMs = Date.parse(time)
  return {
    ...data.task,
    taskId: data.holdId,
    workspaceId: data.workspaceId,
    externalTaskId: data.task.externalTaskId ?? null,
    held: data.amount,
    queuedMs: placedMs,
    deadlineMs: Date.parse(data.deadline),
    vendorTaskId: null,
    status: 'QUEUED',
    progress: queuedProgress,
    submittedMs: null,
    startedMs: null,
    finishedMs: null,
    updatedMs: placedMs,
    failReason: null,
    vendorCode: null,
    deduction: null,
    source: null,
    lines: [],
    total: '0',
    results: [],
  }
}

const ranks: { readonly [S in TaskStatus]: number } = {
  QUEUED: 0,
  SUBMITTED: 1,
  IN_PROGRESS: 2,
  SUCCESS: 3,
  FAILURE: 3,
}

const advances = (task: Task, status: TaskStatus, progress: number): boolean =>
  ranks[status] > ranks[task.status] || (status === task.status && progress > task.progress)

const moveTo = (task: Task, status: 'SUBMITTED' | 'IN_PROGRESS', progress: number, atMs: number): void => {
  if (!advances(task, status, progress)) return
  task.status = status
  task.progress = Math.max(task.progress, progress)
  task.updatedMs = atMs
  task.submittedMs ??= atMs
  if (status === 'IN_PROGRESS') task.startedMs ??= atMs
}

export const progressTask = (task: Task, event: TaskEvent): void => {
  const atMs = Date.parse(event.time)
  if (event.type === 'TaskProgressed') moveTo(task, event.data.status, event.data.progress, atMs)
  else {
    task.vendorTaskId ??= event.data.vendorTaskId
    moveTo(task, 'SUBMITTED', submittedProgress, atMs)
  }
}

const end = (task: Task, status: 'SUCCESS' | 'FAILURE', atMs: number): void => {
  task.status = status
  task.progress = 100
  task.finishedMs = atMs
  task.updatedMs = atMs
}

export const settleTask = (task: Task, { data, time }: EventOf<'TaskSettled'>): void => {
  end(task, data.outcome, Date.parse(time))
  task.vendorTaskId ??= data.vendorTaskId ?? null
  task.failReason = data.failReason ?? null
  task.vendorCode = data.vendorCode ?? null
  task.deduction = data.deduction ?? null
  task.source = data.source
  task.lines = data.lines
  task.total = data.total
  task.results = data.results
}

const releaseReasons: { readonly [R in EventOf<'HoldReleased'>['data']['reason']]: string } = {
  expired: 'The task did not end before its deadline.',
  returned: 'The task was given up.',
  submit_failed: 'The task was not accepted.',
}

export const expireTask = (task: Task, { data, time }: EventOf<'HoldReleased'>): void => {
  end(task, 'FAILURE', Date.parse(time))
  task.failReason = releaseReasons[data.reason]
}

const applyToTask = (task: Task, event: Event): void => {
  if (event.type === 'TaskSubmitted' || event.type === 'TaskProgressed') progressTask(task, event)
  else if (event.type === 'TaskSettled') settleTask(task, event)
  else if (event.type === 'HoldReleased') expireTask(task, event)
}

/** Of its events, and of others; the first end counts. Null where the task is not among them. */
export const foldTask = (
  events: readonly Event[],
  { taskId, workspaceId }: Pick<Task, 'taskId' | 'workspaceId'>,
): Task | null => {
  const own = events.filter(
    ({ data }) =>
      'workspaceId' in data &&
      data.workspaceId === workspaceId &&
      (('taskId' in data && data.taskId === taskId) || ('holdId' in data && data.holdId === taskId)),
  )
  const placed = own.find((event) => event.type === 'HoldPlaced')
  const task = placed === undefined ? null : openTask(placed)
  if (task === null) return null
  for (const event of own) if (!isEnded(task)) applyToTask(task, event)
  return task
}
