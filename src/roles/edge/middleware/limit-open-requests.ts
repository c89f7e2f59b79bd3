import type { OpenRequestCounter } from '../open-requests.ts'
import { type EdgeMiddleware, keyOfContext } from './context.ts'

/** A request is open until its response is sent or its client has left, and all work for it is over. */
export const limitOpenRequests =
  (requests: OpenRequestCounter): EdgeMiddleware =>
  async (ctx, next) => {
    const { workspaceId } = keyOfContext(ctx)
    requests.enter(workspaceId)
    const closed = new Promise<void>((resolve) => ctx.res.once('close', resolve))
    try {
      await next()
    } finally {
      void closed.then(() => requests.leave(workspaceId))
    }
  }
