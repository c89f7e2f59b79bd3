import type { RateLimiter } from '../rate-limiter.ts'
import { type EdgeMiddleware, keyOf } from './context.ts'

/** Counts the request against its workspace's rate, where there is one. */
export const limitRate =
  (rateLimiter: RateLimiter | null): EdgeMiddleware =>
  (ctx, next) => {
    rateLimiter?.take(keyOf(ctx).workspaceId)
    return next()
  }
