import type { Plan } from '../../../domain/routing/plan.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeContext } from '../middleware/context.ts'

/** A header holds printable ASCII; a model's name may hold anything. */
const headerText = (name: string): string => name.toWellFormed().replace(/[^\x20-\x7e]+/gu, encodeURIComponent)

interface Served {
  readonly level: number
  readonly model: string
}

const tellChain = (ctx: EdgeContext, { level, model }: Served): void => {
  ctx.set('X-Gateway-Fallback-Level', String(level))
  if (level > 0) ctx.set('X-Gateway-Fallback-Model', headerText(model))
}

/** Reports which model of the plan served: the level where a chain was named, the resolved model where a router was. */
export const setRouteHeaders = (ctx: EdgeContext, plan: Plan, served: Served): void => {
  ctx.state.trace.servedBy(plan, served)
  if (plan.chain) tellChain(ctx, served)
  if (plan.router === null) return
  ctx.set('X-Gateway-Router', plan.router)
  ctx.set('X-Gateway-Resolved-Model', headerText(served.model))
}

/** Reports the last model that was tried, where the fault has one, and rethrows the fault. */
export const setFailureHeaders = (ctx: EdgeContext, plan: Plan, fault: unknown): never => {
  if (fault instanceof GatewayError && fault.failedAt !== undefined) setRouteHeaders(ctx, plan, fault.failedAt)
  throw fault
}
