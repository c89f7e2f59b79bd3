import type { KeyedOperation } from '../../../../domain/idempotency/key.ts'
import type { JsonObject } from '../../../../encoding/json.ts'
import { type HttpContext, keyOfContext } from '../../../../http/context.ts'
import type { AcceptedTask } from '../../../task-views.ts'
import type { KeyLease } from '../../admission/idempotency/key-lease.ts'
import { clientGoneOf } from '../inference/send-answer.ts'
import { headersToStore, type IdempotentParts, serveIdempotent } from '../inference/serve-idempotent.ts'
import type { VideoSubmission } from './draft-task.ts'
import type { VideoTasks } from './video-tasks.ts'

export interface SubmitParts extends IdempotentParts {
  readonly videoTasks: VideoTasks
}

const contentType = 'application/json; charset=utf-8'

export const submitTask = async (
  ctx: HttpContext,
  parts: SubmitParts,
  read: Omit<VideoSubmission, 'key' | 'rates'>,
  show: (accepted: AcceptedTask) => JsonObject,
): Promise<void> => {
  const { videoTasks } = parts
  const { rates, trace } = ctx.state
  const submission = { ...read, key: keyOfContext(ctx), rates }
  const clientGone = clientGoneOf(ctx.res)
  const taskId = videoTasks.newTaskId()
  const run = async (held: KeyLease | null, work: KeyedOperation): Promise<void> => {
    const namedId = work.type === 'task' ? work.taskId : taskId
    const named = held === null ? null : { taskId: namedId, mayExist: namedId !== taskId }
    const accepted = await videoTasks.submit(submission, clientGone, named)
    trace.taskId = accepted.taskId
    trace.server = { model: accepted.model }
    const body = Buffer.from(JSON.stringify(show(accepted)))
    if (held !== null) await held.store({ status: 200, headers: headersToStore(ctx, contentType), body })
    ctx.set('Content-Type', contentType)
    ctx.body = body
  }
  await serveIdempotent(ctx, parts, { work: { type: 'task', taskId } }, run, () => videoTasks.findRefusal(submission))
}
