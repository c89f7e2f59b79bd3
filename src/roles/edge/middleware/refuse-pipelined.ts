import type { Socket } from 'node:net'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeMiddleware } from './context.ts'

/**
 * Bounds the unanswered requests of one connection: Node hands on every request that it reads. A refusal is answered in
 * its turn, so that a connection with many of these is read no further. Throws `concurrency_limit_exceeded`.
 */
export const refusePipelined = (requestsMax: number): EdgeMiddleware => {
  const open = new WeakMap<Socket, number>()
  const add = (socket: Socket, change: 1 | -1): number => {
    const count = (open.get(socket) ?? 0) + change
    open.set(socket, count)
    return count
  }
  return ({ req: { socket }, res }, next) => {
    const count = add(socket, 1)
    res.once('close', () => add(socket, -1))
    if (count <= requestsMax) return next()
    throw new GatewayError(
      'concurrency_limit_exceeded',
      `The connection has more than ${requestsMax} requests that are not answered.`,
      { retryAfterSeconds: 1 },
    )
  }
}
