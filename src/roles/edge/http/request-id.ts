import type { HttpMiddleware } from '../../../http/context.ts'
import type { NewId } from '../../../runtime/clock.ts'

/** OpenAI's SDKs expose the second one, Anthropic's the third. */
export const requestIdHeaders = ['X-Gateway-Request-Id', 'x-request-id', 'request-id'] as const

/** The id of the original request, in the response to a repeat of its idempotency key. */
export const originalRequestHeader = 'X-Gateway-Original-Request-Id'

/** Unless its route sets other headers, no cache shares a response and no browser renders it as a page. */
export const identifyRequest =
  (newId: NewId): HttpMiddleware =>
  (ctx, next) => {
    ctx.state.requestId = newId()
    for (const name of requestIdHeaders) ctx.res.setHeader(name, ctx.state.requestId)
    ctx.res.setHeader('Cache-Control', 'no-store')
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff')
    return next()
  }
