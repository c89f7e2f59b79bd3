import { genericAccepted, genericTask } from '../../../task-views.ts'
import { callerOfContext, type EdgeMiddleware, jsonOfContext, keyOfContext } from '../../middleware/context.ts'
import type { VideoTasks } from '../../video-tasks.ts'
import { idIn } from '../path-id.ts'
import { type SubmitParts, submitTask } from '../submit-task.ts'
import { readGeneration } from './request.ts'

/** POST /v1/video/generations */
export const submitGeneration =
  (parts: SubmitParts): EdgeMiddleware =>
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

/** GET /v1/video/generations/{id} */
export const showGeneration =
  (tasks: VideoTasks): EdgeMiddleware =>
  async (ctx) => {
    const task = await tasks.find(callerOfContext(ctx), idIn(ctx, generationPath))
    ctx.body = { code: 'success', message: '', data: genericTask(task) }
  }
