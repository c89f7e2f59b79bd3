import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { Key } from '../domain/accounts/accounts.ts'
import type { UsageBounds } from '../domain/pricing/worst-case.ts'
import type { RoutePlan } from '../domain/routing/plan.ts'
import type { ErrorCode } from '../errors/gateway-error.ts'
import type { RequestRouted } from '../events/types.ts'
import type { RequestSpan } from '../runtime/tracing.ts'
import type { AdminRole } from './admin-roles.ts'

interface ReceivedJson {
  /** Made again where the collector has taken it: see `Collectable`. */
  readonly value: unknown
  readonly bytesLength: number
}

/** Counts the bytes of a request's body for as long as the request is open. */
interface OpenBytes {
  /** Throws `byte_limit_exceeded` where there is no room for the announced bytes; counts those that have come. */
  take(bytes: number, announced?: number): void
}

/** Counts a request against its limits. Both throw `rate_limit_exceeded` or `concurrency_limit_exceeded`. */
export interface RateLimiter {
  /** Resolves with the candidates that the limits of their models admit. */
  admit(plan: RoutePlan, demand: UsageBounds): Promise<RoutePlan>
  /** Counts the submit of a task against its model's limits. */
  admitTask(model: string): Promise<void>
}

/** What middleware and handlers note of a request for its line in the log; instants are those of `performance.now()`. */
export interface RequestTrace {
  authenticatedMs: number | null
  admittedMs: number | null
  routedMs: number | null
  /** Who answered, by the names of the catalogue: what the caller wrote stays out. */
  server: { readonly model: string; readonly provider?: string | undefined; readonly level?: number } | null
  taskId?: string
  /** A question that was put to its provider: it is not recorded as routed. */
  isAsked?: true
  code?: ErrorCode
  /** Absent: the request is not traced. */
  span?: RequestSpan
}

/** Set by the middleware, in this order. */
export interface HttpState extends DefaultState {
  requestId: string
  trace: RequestTrace
  key?: Key
  /** The administrator, as the actor of a change: `admin:ana`. */
  admin?: string
  adminRole?: AdminRole
  /** Whether the key, token or session of the request would still be let in: for answers that have no end. */
  isStillAllowed?: () => boolean
  /** The workspace whose ledger an administrator reads; null for all. */
  reads?: string | null
  /** The sequence of the log that the answer reflects. */
  reflects?: number
  openBytes?: OpenBytes
  rates?: RateLimiter
  attribution?: Pick<RequestRouted, 'tags' | 'endUser'>
  json?: ReceivedJson
}

export type HttpContext = ParameterizedContext<HttpState, object>
export type HttpContextWithId = HttpContext & { readonly params: { readonly id?: string } }

export type HttpMiddleware = (ctx: HttpContext, next: Next) => Promise<void> | void

export const keyOfContext = ({ state }: HttpContext): Key => {
  if (state.key === undefined) throw new Error('the endpoint does not authenticate')
  return state.key
}

/** The key's, or the one that an administrator named; null for all. */
export const canRead = (ctx: HttpContext): string | null => {
  const { reads } = ctx.state
  return reads === undefined ? keyOfContext(ctx).workspaceId : reads
}

export const readableWorkspace = (ctx: HttpContext): string => {
  const workspaceId = canRead(ctx)
  if (workspaceId === null) throw new Error('the endpoint reads the ledger of one workspace')
  return workspaceId
}

export const callerOfContext = (ctx: HttpContext): { readonly requestId: string; readonly key: Key } => ({
  requestId: ctx.state.requestId,
  key: keyOfContext(ctx),
})

export const jsonOfContext = ({ state }: HttpContext): ReceivedJson => {
  if (state.json === undefined) throw new Error('the endpoint reads no body')
  return state.json
}
