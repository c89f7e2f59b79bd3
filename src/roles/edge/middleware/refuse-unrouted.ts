import type { Router } from '@koa/router'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeMiddleware, EdgeState } from './context.ts'

/** Mounted after the routes. Throws `not_found`, or `method_not_allowed` where another method has a route. */
export const refuseUnrouted =
  (router: Router<EdgeState, object>): EdgeMiddleware =>
  (ctx) => {
    const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods))
    if (methods.size === 0) throw new GatewayError('not_found', 'There is nothing at this path.')
    const allowed = [...methods].join(', ')
    ctx.set('Allow', allowed)
    throw new GatewayError('method_not_allowed', `This path takes ${allowed}.`)
  }
