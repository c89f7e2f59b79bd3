import { allPass, type Checks } from '../../../../runtime/health.ts'
import type { EdgeMiddleware } from '../../middleware/context.ts'

/** GET /healthz: the process is running. */
export const showHealth = (): EdgeMiddleware => (ctx) => {
  ctx.body = { status: 'ok' }
}

/** GET /readyz: requests can be served and recorded; 503 with the failed checks while they cannot. */
export const showReadiness =
  (ready: () => Checks): EdgeMiddleware =>
  (ctx) => {
    const checks = ready()
    const isReady = allPass(checks)
    ctx.status = isReady ? 200 : 503
    ctx.body = { status: isReady ? 'ready' : 'not_ready', role: 'edge', checks }
  }
