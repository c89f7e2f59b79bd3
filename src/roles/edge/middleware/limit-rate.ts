import type { Rates } from '../rates/rates.ts'
import { RequestRates } from '../rates/request-rates.ts'
import { type EdgeMiddleware, keyOfContext } from './context.ts'

/** Counts the request against the limits of its key and workspace, and reports them in the response headers. */
export const limitRate =
  (rates: Rates): EdgeMiddleware =>
  async (ctx, next) => {
    const limits = rates.limitsOf(keyOfContext(ctx))
    if (limits === null) return next()
    const { requestId } = ctx.state
    const request = new RequestRates({ rates, limits, requestId, tell: (headers) => ctx.set(headers) })
    try {
      await request.enter()
      ctx.state.rates = request
      await next()
    } finally {
      request.leave()
    }
  }
