import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeMiddleware } from './context.ts'

/** A target that is a whole address, as proxies get it, without scheme and host; null for whatever else is no path. */
const pathOf = (target: string): string | null => {
  const url = URL.parse(target)
  return url !== null && /^https?:$/.test(url.protocol) ? url.pathname + url.search : null
}

/** Behind it every request has a path. Throws `invalid_request`. */
export const normalizeTarget = (): EdgeMiddleware => (ctx, next) => {
  if (ctx.url.startsWith('/')) return next()
  const path = pathOf(ctx.url)
  ctx.url = path ?? '/'
  if (path !== null) return next()
  throw new GatewayError('invalid_request', 'The target of the request must be a path, or an http:// or https:// URL.')
}
