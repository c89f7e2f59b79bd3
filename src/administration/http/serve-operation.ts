import type { Accounts } from '../../domain/accounts/accounts.ts'
import { logUnavailable } from '../../errors/gateway-error.ts'
import { type HttpContext, type HttpMiddleware, jsonOfContext } from '../../http/context.ts'
import { sequenceHeader } from '../../read-api/read-tables.ts'
import { withTimeout } from '../../runtime/within.ts'
import { accountRefusal } from '../admin-context.ts'
import { administrationLimits } from '../limits.ts'
import { type AdminOperation, type OperationContext, successStatus } from '../operation.ts'

type NamedContext = HttpContext & {
  readonly params: { readonly id?: string; readonly key?: string; readonly workspace?: string }
}

const administratorOf = ({ state }: HttpContext): Pick<OperationContext, 'role'> & { readonly actor: string } => {
  const { admin, adminRole: role } = state
  if (admin === undefined || role === undefined) throw new Error('the endpoint does not authenticate administrators')
  return { actor: admin, role }
}

const readInput = (ctx: NamedContext, request: string | null): Parameters<AdminOperation['run']>[1] => {
  const { id = '', key = '' } = ctx.params
  const header = ctx.req.headers['idempotency-key']
  return {
    id,
    key,
    body: request === null ? undefined : jsonOfContext(ctx).value,
    querystring: ctx.querystring,
    idempotencyKey: typeof header === 'string' ? header : undefined,
  }
}

/** After `authenticateAdmin`, and `readJson` where the operation has a body. */
export const serveOperation =
  (operation: AdminOperation, context: Omit<OperationContext, 'role'>) =>
  async (ctx: NamedContext): Promise<void> => {
    const administrator = administratorOf(ctx)
    const running = async () => operation.run({ ...context, ...administrator }, readInput(ctx, operation.request))
    const result = await withTimeout(running(), administrationLimits.adminChangeMs, () => logUnavailable())
    const { warnings = [] } = result
    if (result.sequence !== undefined) ctx.set(sequenceHeader, String(result.sequence))
    ctx.status = successStatus(operation, result.changed === true)
    if (result.html !== undefined) {
      ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'")
      ctx.type = 'html'
      ctx.body = result.html
      return
    }
    ctx.body = { ...result.body, ...(warnings.length === 0 ? {} : { warnings }) }
  }

/** After `authenticateAdmin`: reads the ledger of the workspace that the path names. Throws `not_found`. */
export const readNamed =
  ({ workspaces }: Pick<Accounts, 'workspaces'>) =>
  (ctx: NamedContext, next: Parameters<HttpMiddleware>[1]): Promise<void> => {
    const { workspace = '' } = ctx.params
    if (!workspaces.has(workspace)) throw accountRefusal('workspace_unknown')
    ctx.state.reads = workspace
    return next()
  }

/** After `authenticateAdmin`: reads the ledgers of all workspaces. */
export const readAll: HttpMiddleware = (ctx, next) => {
  ctx.state.reads = null
  return next()
}
