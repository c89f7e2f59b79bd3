import type { HttpMiddleware } from '../../http/context.ts'
import { dashboardFiles } from './files.ts'

/** Nothing is loaded from elsewhere, sent elsewhere or framed; no script or style is inline. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-cache', // Stored, and revalidated each time: files of two releases never mix.
} as const

/** GET /dashboard and its files, to which `/` leads; the data comes from the read API and the admin API, by the key that is typed in. */
export const serveDashboard = (): HttpMiddleware => {
  const files = dashboardFiles()
  return (ctx, next) => {
    if (ctx.path === '/' && ctx.method === 'GET') return ctx.redirect('/dashboard')
    const file = ctx.method === 'GET' || ctx.method === 'HEAD' ? files.get(ctx.path) : undefined
    if (file === undefined) return next()
    ctx.set(headers)
    ctx.type = file.type
    ctx.etag = file.tag
    ctx.status = 200
    if (ctx.fresh) ctx.status = 304
    else ctx.body = file.body
  }
}
