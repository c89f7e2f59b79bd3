import type { Task } from '../../../../domain/video/task.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import {
  callerOfContext,
  type HttpContext,
  type HttpMiddleware,
  jsonOfContext,
  keyOfContext,
} from '../../../../http/context.ts'
import { openaiAccepted, openaiVideo } from '../../../task-views.ts'
import { idIn } from '../tasks/path-id.ts'
import { type SubmitParts, submitTask } from '../tasks/submit-task.ts'
import type { VideoTasks } from '../tasks/video-tasks.ts'
import { readGeneration } from './request.ts'

/** POST /v1/videos: POST /v1/video/generations in OpenAI's format. */
export const createVideo =
  (parts: SubmitParts): HttpMiddleware =>
  async (ctx) => {
    const { rates } = ctx.state
    const asked = {
      key: keyOfContext(ctx),
      rates,
      surface: 'video',
      ...readGeneration(jsonOfContext(ctx).value),
    } as const
    await submitTask(ctx, parts, asked, openaiAccepted)
  }

const videoPath = /^\/v1\/videos\/([^/]+)(?:\/content)?\/?$/i

const taskAt = (ctx: HttpContext, tasks: VideoTasks): Promise<Task> =>
  tasks.find(callerOfContext(ctx), idIn(ctx, videoPath))

export const retrieveVideo =
  (tasks: VideoTasks): HttpMiddleware =>
  async (ctx) => {
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
  (tasks: VideoTasks): HttpMiddleware =>
  async (ctx) => {
    refuseVariant(ctx)
    const url = resultOf(await taskAt(ctx, tasks))
    ctx.body = ''
    ctx.status = 302
    ctx.set('Location', url)
  }
