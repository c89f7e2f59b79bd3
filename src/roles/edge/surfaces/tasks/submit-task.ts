import type { JsonObject } from '../../../../encoding/json.ts'
import type { HttpContext } from '../../../../http/context.ts'
import type { AcceptedTask } from '../../../task-views.ts'
import { readIdempotencyKey } from '../../admission/idempotency/key-header.ts'
import { headersToStore, type IdempotentParts, serveIdempotent } from '../idempotency/serve-idempotent.ts'
import { clientGoneOf } from '../streaming/client-gone.ts'
import type { VideoSubmission } from './draft-task.ts'
import type { VideoTasks } from './video-tasks.ts'

export interface SubmitParts extends IdempotentParts {
  readonly videoTasks: VideoTasks
}

const contentType = 'application/json; charset=utf-8'

const noteTask = ({ state }: HttpContext, { taskId, model }: AcceptedTask): void => {
  state.trace.taskId = taskId
  state.trace.server = { model }
}

/** Submits a task, once per idempotency key. */
export const submitTask = async (
  ctx: HttpContext,
  parts: SubmitParts,
  submission: VideoSubmission,
  show: (accepted: AcceptedTask) => JsonObject,
): Promise<void> => {
  const { videoTasks } = parts
  const clientGone = clientGoneOf(ctx.res)
  const key = readIdempotencyKey(ctx.req.headers)
  if (key === null) {
    const accepted = await videoTasks.submit(submission, clientGone)
    noteTask(ctx, accepted)
    ctx.body = show(accepted)
    return
  }
  const taskId = videoTasks.newTaskId()
  await serveIdempotent(ctx, parts, { key, work: { type: 'task', taskId } }, async (held, work) => {
    const named = work.type === 'task' ? work.taskId : taskId
    const accepted = await videoTasks.submit(submission, clientGone, { taskId: named, mayExist: named !== taskId })
    noteTask(ctx, accepted)
    const body = Buffer.from(JSON.stringify(show(accepted)))
    await held.store({ status: 200, headers: headersToStore(ctx, contentType), body })
    ctx.set('Content-Type', contentType)
    ctx.body = body
  })
}
