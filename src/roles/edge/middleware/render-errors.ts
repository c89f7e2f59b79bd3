import type { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeContext, EdgeMiddleware } from './context.ts'
import { errorBodyAt, type FaultReporter } from './errors.ts'
import { originalRequestHeader } from './request-id.ts'

/** SDKs would ask again after any 409; they do what the second header says. */
const tellRepeated = (ctx: EdgeContext, { requestId, isRetryable }: NonNullable<GatewayError['repeats']>): void => {
  ctx.set(originalRequestHeader, requestId)
  ctx.set('x-should-retry', String(isRetryable))
}

const renderError = (ctx: EdgeContext, error: GatewayError): void => {
  if (ctx.res.closed) return // Its client went first.
  ctx.state.trace.code = error.code
  if (ctx.res.headersSent) {
    // Half an answer is out: only a broken connection can still tell that it is no whole one.
    ctx.respond = false
    ctx.res.destroy()
    return
  }
  ctx.respond = true
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(error.retryAfterSeconds))
  if (error.repeats !== undefined) tellRepeated(ctx, error.repeats)
  if (error.code === 'not_implemented') ctx.set('x-should-retry', 'false') // SDKs would ask again after any 5xx.
  ctx.status = error.status
  ctx.set('Content-Type', 'application/json')
  ctx.body = JSON.stringify(errorBodyAt(ctx.path, error, ctx.state.requestId))
}

/** The one place that turns what was thrown into a response. */
export const renderErrors =
  (faults: FaultReporter): EdgeMiddleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (fault) {
      renderError(ctx, faults.toGatewayError(fault, ctx.state.requestId))
    }
  }
