import type { Task, TaskStatus } from '../domain/video/task.ts'
import type { JsonObject } from '../encoding/json.ts'
import type { TaskResult } from '../events/types.ts'

/** The answer to a submit: the same however often the submit is repeated. */
export type AcceptedTask = Pick<Task, 'taskId' | 'model' | 'externalTaskId' | 'queuedMs'>

type VideoTaskView = Pick<
  Task,
  'taskId' | 'model' | 'queuedMs' | 'status' | 'progress' | 'finishedMs' | 'failReason' | 'results'
>

type GenericStatus = Exclude<TaskStatus, 'QUEUED'>
type NativeStatus = 'submitted' | 'processing' | 'succeed' | 'failed'
type OpenaiStatus = 'queued' | 'in_progress' | 'completed' | 'failed'

/** Whether the vendor has a task yet is not shown. */
const words: {
  readonly [S in TaskStatus]: {
    readonly generic: GenericStatus
    readonly native: NativeStatus
    readonly openai: OpenaiStatus
    readonly percentMin: number
  }
} = {
  QUEUED: { generic: 'SUBMITTED', native: 'submitted', openai: 'queued', percentMin: 10 },
  SUBMITTED: { generic: 'SUBMITTED', native: 'submitted', openai: 'queued', percentMin: 10 },
  IN_PROGRESS: { generic: 'IN_PROGRESS', native: 'processing', openai: 'in_progress', percentMin: 30 },
  SUCCESS: { generic: 'SUCCESS', native: 'succeed', openai: 'completed', percentMin: 100 },
  FAILURE: { generic: 'FAILURE', native: 'failed', openai: 'failed', percentMin: 100 },
}

const actions: { readonly [K in Task['kind']]: string } = {
  text2video: 'textGenerate',
  image2video: 'generate',
  'omni-video': 'omniVideo',
}

/** Below 100 as long as it has not ended. */
const percentOf = ({ status, progress }: Pick<Task, 'status' | 'progress'>): number => {
  const { percentMin } = words[status]
  return percentMin === 100 ? 100 : Math.min(99, Math.max(percentMin, Math.floor(progress)))
}

/** 0 for what has not happened, as clients of the generic surface expect. */
const secondsOf = (ms: number | null): number => (ms === null ? 0 : Math.floor(ms / 1_000))

const optional = <Name extends string, T>(name: Name, value: T | null | undefined): { readonly [N in Name]?: T } =>
  value === null || value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]?: T })

export const genericStatus = ({ status }: Pick<Task, 'status'>): string => words[status].generic

/** The video's id is ours too: the vendor's cannot be used here. */
const nativeVideo = ({ url, watermarkUrl, duration }: TaskResult, index: number, taskId: string): JsonObject => ({
  id: `${taskId}-${index + 1}`,
  url,
  ...optional('watermark_url', watermarkUrl),
  ...optional('duration', duration),
})

const nativeResult = ({ taskId, status, results, deduction }: Task): JsonObject =>
  status === 'SUCCESS'
    ? {
        task_result: { videos: results.map((result, index) => nativeVideo(result, index, taskId)) },
        watermark_info: { enabled: results.some(({ watermarkUrl }) => watermarkUrl !== undefined) },
        ...optional('final_unit_deduction', deduction),
      }
    : {}

/** The `data` member of the native surface's poll. Times in milliseconds. */
export const nativeTask = (task: Task): JsonObject => ({
  task_id: task.taskId,
  task_status: words[task.status].native,
  task_status_msg: task.failReason ?? '',
  task_info: optional('external_task_id', task.externalTaskId),
  created_at: task.queuedMs,
  updated_at: task.updatedMs,
  ...nativeResult(task),
})

export const nativeAccepted = ({ taskId, externalTaskId, queuedMs }: AcceptedTask): JsonObject => ({
  task_id: taskId,
  task_status: words.QUEUED.native,
  task_info: optional('external_task_id', externalTaskId),
  created_at: queuedMs,
  updated_at: queuedMs,
})

/** The vendor's last response with our ids; null where it sent none yet. */
const vendorBody = (task: Task): JsonObject | null => {
  const { vendorTaskId, vendorCode, failReason } = task
  if (vendorTaskId !== null) return { code: 0, message: 'SUCCEED', data: nativeTask(task) }
  return vendorCode === null ? null : { code: vendorCode, message: failReason ?? '', data: null }
}

const usageOf = ({ status, lines, total, source }: Task): JsonObject => {
  const [line] = lines
  if (status !== 'SUCCESS' || line === undefined) return {}
  return { usage: { units: line.quantity, unit_price: line.unitPrice, cost: total, currency: 'USD', source } }
}

/** The `data` member of the generic surface's poll. Times in seconds. */
export const genericTask = (task: Task): JsonObject => ({
  task_id: task.taskId,
  status: genericStatus(task),
  progress: `${percentOf(task)}%`,
  action: actions[task.kind],
  fail_reason: task.failReason ?? '',
  ...(task.status === 'SUCCESS' ? optional('result_url', task.results[0]?.url) : {}),
  submit_time: secondsOf(task.queuedMs),
  start_time: secondsOf(task.startedMs),
  finish_time: secondsOf(task.finishedMs),
  created_at: secondsOf(task.queuedMs),
  updated_at: secondsOf(task.updatedMs),
  model: task.model,
  properties: { input: '', origin_model_name: task.model, upstream_model_name: task.upstreamModel },
  data: vendorBody(task),
  ...usageOf(task),
})

export const genericAccepted = ({ taskId, model, queuedMs }: AcceptedTask): JsonObject => ({
  id: taskId,
  task_id: taskId,
  object: 'video',
  model,
  status: 'queued',
  progress: '0%',
  created_at: secondsOf(queuedMs),
})

const openaiError = ({ status, failReason }: VideoTaskView): JsonObject | null =>
  status === 'FAILURE' ? { code: 'task_failed', message: failReason ?? 'The task failed.' } : null

/** OpenAI's video object. Times in seconds, progress in whole percent; prompt and size are not stored. */
export const openaiVideo = (task: VideoTaskView): JsonObject => {
  const { taskId, model, status, queuedMs, finishedMs, results } = task
  const [result] = results
  return {
    id: taskId,
    task_id: taskId,
    object: 'video',
    model,
    status: words[status].openai,
    progress: status === 'QUEUED' ? 0 : percentOf(task),
    created_at: secondsOf(queuedMs),
    completed_at: finishedMs === null ? null : secondsOf(finishedMs),
    expires_at: null,
    prompt: null,
    remixed_from_video_id: null,
    seconds: result?.duration ?? null,
    size: null,
    error: openaiError(task),
    ...(result === undefined ? {} : { metadata: { url: result.url } }),
  }
}

export const openaiAccepted = (task: AcceptedTask): JsonObject =>
  openaiVideo({ ...task, status: 'QUEUED', progress: 0, finishedMs: null, failReason: null, results: [] })
