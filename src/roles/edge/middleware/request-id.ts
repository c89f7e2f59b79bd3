import type { NewId } from '../../../runtime/clock.ts'
import { RequestTrace } from '../request-trace.ts'
import type { EdgeMiddleware } from './context.ts'

/** OpenAI's SDKs surface the second one, Anthropic's the third. */
export const requestIdHeaders = ['X-Gateway-Request-Id', 'x-request-id', 'request-id'] as const

/** Names the request that an idempotency key stands for, in the answer to a repeat. */
export const originalRequestHeader = 'X-Gateway-Original-Request-Id'

/**
 * Gives every request an id of ours, and tells it in every response. Unless its route says otherwise, no cache shows a response to another
 * caller, and no browser takes it for a page.
 */
export const identifyRequest =
  (newId: NewId): EdgeMiddleware =>
  (ctx, next) => {
    ctx.state.requestId = newId()
    ctx.state.trace = new RequestTrace(ctx.state.requestId, ctx.req.socket)
    for (const name of requestIdHeaders) ctx.res.setHeader(name, ctx.state.requestId)
    ctx.res.setHeader('Cache-Control', 'no-store')
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff')
    return next()
  }
