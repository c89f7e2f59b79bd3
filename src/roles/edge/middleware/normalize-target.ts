import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeMiddleware } from './context.ts'

/** The path of a target in absolute form, as proxies get it; null for anything else that is no path. */
const pathOf = (target: string): string | null => {
  const url = URL.parse(target)
  return url !== null && /^https?:$/.test(url.protocol) ? url.pathname + url.search : null
}

/** After it every request has a path. Throws `invalid_request`. */
export const normalizeTarget = (): EdgeMiddleware => (ctx, next) => {
  if (ctx.url.startsWith('/')) return next()
  const path = pathOf(ctx.url)
  ctx.url = path ?? '/'
  if (path !== null) return next()
  throw new GatewayError('invalid_request', 'The target of the request must be a path, or an http:// or https:// URL.')
}
