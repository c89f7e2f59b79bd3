import type { OpenRequests } from '../open-requests.ts'
import { type EdgeMiddleware, keyOf } from './context.ts'

/** Refuses at once what there is no room for. A request is open until its answer has left, or its client. */
export const limitOpenRequests =
  (requests: OpenRequests): EdgeMiddleware =>
  (ctx, next) => {
    const { workspaceId } = keyOf(ctx)
    requests.enter(workspaceId)
    ctx.res.once('close', () => requests.leave(workspaceId))
    return next()
  }
