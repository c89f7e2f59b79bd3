import type { Plan } from '../../../domain/routing/plan.ts'
import { GatewayError } from '../../../errors.ts'
import type { EdgeContext } from '../middleware/context.ts'

/** The place of a candidate in the plan, and its model. */
interface Served {
  readonly level: number
  readonly model: string
}

const tellChain = (ctx: EdgeContext, plan: Plan, { level, model }: Served): void => {
  const place = plan.levels[level] ?? level
  ctx.set('X-Gateway-Fallback-Level', String(place))
  if (place > 0) ctx.set('X-Gateway-Fallback-Model', model)
}

/** Tells which model of the plan served: the level where a chain was named, the resolved model where a router was. */
export const tellRoute = (ctx: EdgeContext, plan: Plan, served: Served): void => {
  if (plan.chain) tellChain(ctx, plan, served)
  if (plan.router === null) return
  ctx.set('X-Gateway-Router', plan.router)
  ctx.set('X-Gateway-Resolved-Model', served.model)
}

/** Tells the same of the last model that was tried, where a fault has one, and passes the fault on. */
export const tellFailure = (ctx: EdgeContext, plan: Plan, fault: unknown): never => {
  if (fault instanceof GatewayError && fault.failedAt !== undefined) tellRoute(ctx, plan, fault.failedAt)
  throw fault
}
