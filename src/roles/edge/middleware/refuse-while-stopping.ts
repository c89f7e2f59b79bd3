import { GatewayError } from '../../../errors/gateway-error.ts'
import type { ListenerPhase } from '../http-listener.ts'
import type { EdgeMiddleware } from './context.ts'

const stopping = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Send the request again.', {
    retryAfterSeconds: 1,
  })

/** While the process stops, takes no new request; then and before, while it leaves, lets every response end its connection. */
export const refuseWhileStopping =
  (phase: () => ListenerPhase): EdgeMiddleware =>
  async (ctx, next) => {
    try {
      if (phase() === 'stopping') throw stopping()
      await next()
    } finally {
      if (phase() !== 'open' && !ctx.res.headersSent) ctx.set('Connection', 'close')
    }
  }
