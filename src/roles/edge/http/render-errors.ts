import type { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpContext, HttpMiddleware } from '../../../http/context.ts'
import { errorStatusOf } from '../../../http/error-table.ts'
import { errorBodyAt, type FaultReporter } from '../../../http/errors.ts'
import { originalRequestHeader } from './request-id.ts'

/** SDKs repeat a request after any 409 unless the second header is `false`. */
const setRepeatHeaders = (ctx: HttpContext, { requestId, isRetryable }: NonNullable<GatewayError['repeats']>): void => {
  ctx.set(originalRequestHeader, requestId)
  ctx.set('x-should-retry', String(isRetryable))
}

const renderError = (ctx: HttpContext, error: GatewayError): void => {
  if (ctx.res.closed) return // Its client went first.
  ctx.state.trace.code = error.code
  if (ctx.res.headersSent) {
    // Part of the answer is sent: only a broken connection still shows that the rest is missing.
    ctx.respond = false
    ctx.res.destroy()
    return
  }
  ctx.respond = true
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(error.retryAfterSeconds))
  if (error.repeats !== undefined) setRepeatHeaders(ctx, error.repeats)
  if (error.code === 'not_implemented') ctx.set('x-should-retry', 'false') // SDKs would ask again after any 5xx.
  ctx.status = errorStatusOf(error)
  ctx.set('Content-Type', 'application/json')
  ctx.body = JSON.stringify(errorBodyAt(ctx.path, error, ctx.state.requestId))
}

/** The one place that turns what was thrown into a response. */
export const renderErrors =
  (faults: FaultReporter): HttpMiddleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (fault) {
      renderError(ctx, faults.toGatewayError(fault, ctx.state.requestId))
    }
  }
