import type { Inference } from '../../inference.ts'
import type { EdgeMiddleware } from '../../middleware/context.ts'

/** GET /healthz: the process serves. */
export const showHealth = (): EdgeMiddleware => (ctx) => {
  ctx.body = { status: 'ok' }
}

/** GET /readyz: requests can be recorded. Throws `log_unavailable` while they cannot. */
export const showReadiness =
  (inference: Inference): EdgeMiddleware =>
  (ctx) => {
    inference.requireLog()
    ctx.body = { status: 'ready' }
  }
