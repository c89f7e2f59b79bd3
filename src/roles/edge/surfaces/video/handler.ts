import { callerOfContext, type HttpMiddleware, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import { genericAccepted, genericTask } from '../../../task-views.ts'
import { idIn } from '../tasks/path-id.ts'
import { type SubmitParts, submitTask } from '../tasks/submit-task.ts'
import type { VideoTasks } from '../tasks/video-tasks.ts'
import { readGeneration } from './request.ts'

export const submitGeneration =
  (parts: SubmitParts): HttpMiddleware =>
  async (ctx) => {
    const { rates } = ctx.state
    const asked = {
      key: keyOfContext(ctx),
      rates,
      surface: 'video',
      ...readGeneration(jsonOfContext(ctx).value),
    } as const
    await submitTask(ctx, parts, asked, genericAccepted)
  }

const generationPath = /^\/v1\/video\/generations\/([^/]+)\/?$/i

export const showGeneration =
  (tasks: VideoTasks): HttpMiddleware =>
  async (ctx) => {
    const task = await tasks.find(callerOfContext(ctx), idIn(ctx, generationPath))
    ctx.body = { code: 'success', message: '', data: genericTask(task) }
  }
