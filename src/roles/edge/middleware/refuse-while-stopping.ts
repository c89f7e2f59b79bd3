import { GatewayError } from '../../../errors/gateway-error.ts'
import type { ListenerPhase } from '../http-listener.ts'
import type { EdgeMiddleware } from './context.ts'

const stopping = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Send the request again.', {
    retryAfterSeconds: 1,
  })

/** Refuses new requests while the process stops; from `leaving` on, every response ends its connection. */
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
