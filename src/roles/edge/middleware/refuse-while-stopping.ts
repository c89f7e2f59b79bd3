import { GatewayError } from '../../../errors.ts'
import type { EdgeMiddleware } from './context.ts'

const stopping = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Send the request again.', {
    retryAfterSeconds: 1,
  })

/** While the process stops, takes no new request, and lets every response end its connection. */
export const refuseWhileStopping =
  (isStopping: () => boolean): EdgeMiddleware =>
  async (ctx, next) => {
    try {
      if (isStopping()) throw stopping()
      await next()
    } finally {
      if (isStopping() && !ctx.res.headersSent) ctx.set('Connection', 'close')
    }
  }
