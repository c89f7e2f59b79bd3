import { genericAccepted, genericTask } from '../../../task-views.ts'
import { askerOf, type EdgeMiddleware, jsonOf, keyOf } from '../../middleware/context.ts'
import type { VideoTasks } from '../../video-tasks.ts'
import { clientGoneOf } from '../client-gone.ts'
import { idIn } from '../path-id.ts'
import { readGeneration } from './request.ts'

/** POST /v1/video/generations */
export const submitGeneration =
  (tasks: VideoTasks): EdgeMiddleware =>
  async (ctx) => {
    const asked = { key: keyOf(ctx), surface: 'video', ...readGeneration(jsonOf(ctx).value) } as const
    const accepted = await tasks.submit(asked, clientGoneOf(ctx.res))
    ctx.state.trace.accepted(accepted)
    ctx.body = genericAccepted(accepted)
  }

const generationPath = /^\/v1\/video\/generations\/([^/]+)\/?$/i

/** GET /v1/video/generations/{id} */
export const showGeneration =
  (tasks: VideoTasks): EdgeMiddleware =>
  async (ctx) => {
    const task = await tasks.find(askerOf(ctx), idIn(ctx, generationPath))
    ctx.body = { code: 'success', message: '', data: genericTask(task) }
  }
