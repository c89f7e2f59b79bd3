import { logUnavailable } from '../../errors/gateway-error.ts'
import { type HttpContext, jsonOfContext } from '../../http/context.ts'
import { sequenceHeader } from '../../read-api/read-tables.ts'
import { withTimeout } from '../../runtime/within.ts'
import { administrationLimits } from '../limits.ts'
import { type AdminOperation, type OperationContext, successStatus } from '../operation.ts'

type NamedContext = HttpContext & { readonly params: { readonly id?: string; readonly key?: string } }

const actorOf = ({ state }: HttpContext): string => {
  if (state.admin === undefined) throw new Error('the endpoint does not authenticate administrators')
  return `admin:${state.admin}`
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
  (operation: AdminOperation, context: OperationContext) =>
  async (ctx: NamedContext): Promise<void> => {
    const actor = actorOf(ctx)
    const running = async () => operation.run({ ...context, actor }, readInput(ctx, operation.request))
    const result = await withTimeout(running(), administrationLimits.adminChangeMs, () => logUnavailable())
    const { warnings = [] } = result
    if (result.sequence !== undefined) ctx.set(sequenceHeader, String(result.sequence))
    ctx.status = successStatus(operation, result.changed === true)
    ctx.body = { ...result.body, ...(warnings.length === 0 ? {} : { warnings }) }
  }
