import type { Task } from '../../../../domain/video/task.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import {
  callerOfContext,
  type HttpContext,
  type HttpContextWithId,
  type HttpMiddleware,
  jsonOfContext,
} from '../../../../http/context.ts'
import { genericAccepted, genericTask, openaiAccepted, openaiVideo } from '../../../task-views.ts'
import { type SubmitParts, submitTask } from '../tasks/submit-task.ts'
import type { VideoTasks } from '../tasks/video-tasks.ts'
import { readGeneration } from './request.ts'

const readSubmission = (ctx: HttpContext) =>
  ({ surface: 'video', ...readGeneration(jsonOfContext(ctx).value) }) as const

const taskAt = (ctx: HttpContextWithId, tasks: VideoTasks): Promise<Task> =>
  tasks.find(callerOfContext(ctx), ctx.params.id ?? '')

export const submitGeneration =
  (parts: SubmitParts): HttpMiddleware =>
  async (ctx) => {
    await submitTask(ctx, parts, readSubmission(ctx), genericAccepted)
  }

export const showGeneration =
  (tasks: VideoTasks) =>
  async (ctx: HttpContextWithId): Promise<void> => {
    ctx.body = { code: 'success', message: '', data: genericTask(await taskAt(ctx, tasks)) }
  }

export const createVideo =
  (parts: SubmitParts): HttpMiddleware =>
  async (ctx) => {
    await submitTask(ctx, parts, readSubmission(ctx), openaiAccepted)
  }

export const retrieveVideo =
  (tasks: VideoTasks) =>
  async (ctx: HttpContextWithId): Promise<void> => {
    ctx.body = openaiVideo(await taskAt(ctx, tasks))
  }

export const videoListParameters = { variant: { form: 'the file itself', schema: { enum: ['video'] } } }

const refuseVariant = ({ query }: HttpContext): void => {
  if ((query['variant'] ?? 'video') !== 'video')
    throw new GatewayError('unsupported_value', 'Only the video itself can be downloaded.', { param: 'variant' })
}

/** Throws `not_found` as long as there is no result. */
const resultOf = ({ status, results }: Task): string => {
  const url = status === 'SUCCESS' ? URL.parse(results[0]?.url ?? '') : null
  if (url === null) throw new GatewayError('not_found', `The task has no video to be downloaded: it is ${status}.`)
  return url.href
}

/** Redirects to the vendor's copy. */
export const downloadVideo =
  (tasks: VideoTasks) =>
  async (ctx: HttpContextWithId): Promise<void> => {
    refuseVariant(ctx)
    const url = resultOf(await taskAt(ctx, tasks))
    ctx.body = ''
    ctx.status = 302
    ctx.set('Location', url)
  }
