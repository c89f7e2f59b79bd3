import type { KeySource } from '../../../../administration/account-changes.ts'
import type { AdminContext } from '../../../../administration/admin-context.ts'
import type { Catalog } from '../../../../domain/routing/plan.ts'
import { getValidator } from '../../../../encoding/schema-validation.ts'
import { GatewayError, logUnavailable } from '../../../../errors/gateway-error.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { withTimeout } from '../../../../runtime/within.ts'
import { edgeLimits } from '../../limits.ts'
import { type EdgeContext, jsonOfContext } from '../../middleware/context.ts'
import { refuseInvalid } from '../../middleware/validate.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import type { Parameter } from '../ledger/query.ts'

export interface AdminParts extends KeySource {
  /** Without an actor: each call has its own. */
  readonly books: AdminContext
  readonly readModels: EdgeReadModels
  /** From the configuration, without the overrides in the log. */
  readonly configured: Catalog
  readonly catalog: () => Catalog
  /** For workspaces whose limits do not set one; null for no limit. */
  readonly requestsPerMinute: number | null
  readonly clock: Clock
}

export interface AdminCall<Body> {
  readonly ctx: EdgeContext
  /** The id in the path; empty where there is none. */
  readonly id: string
  /** The id of a key in the path; empty where there is none. */
  readonly key: string
  readonly body: Body
  /** With the calling administrator as the actor. */
  readonly books: AdminContext
}

export interface AdminResult {
  /** 201 where something was created. Default 200. */
  readonly status?: 200 | 201
  readonly body: object
}

/** Warns of a change that is done and may be a mistake. */
export const withWarnings = (warnings: readonly string[]): { readonly warnings?: readonly string[] } =>
  warnings.length === 0 ? {} : { warnings }

export interface PathNames {
  readonly id?: string
  readonly key?: string
}

type Handle<Body> = (call: AdminCall<Body>, parts: AdminParts) => Promise<AdminResult> | AdminResult

export interface AdminRoute {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** `:id` is one segment, `*id` all remaining ones; `:key` is the id of a key. */
  readonly path: string
  readonly summary: string
  /** The `$id` of the body's schema; null where no body is read. */
  readonly request: string | null
  /** The name of the answered object, or of the objects of a list. */
  readonly answer: string
  readonly query?: Readonly<Record<string, Pick<Parameter<unknown>, 'form' | 'schema'>>>
  /** Whether it writes to the log. */
  readonly changes: boolean
  readonly serve: (ctx: EdgeContext, named: PathNames, parts: AdminParts) => Promise<void>
}

const readBody = <Body>(schemaId: string, value: unknown): Body => {
  const problems = getValidator(schemaId)(value)
  const isValid = (_value: unknown): _value is Body => problems.length === 0
  if (isValid(value)) return value
  refuseInvalid(problems, (path) => path)
  throw new Error('a request without problems is valid')
}

const actorOf = ({ state }: EdgeContext): string => {
  if (state.admin === undefined) throw new Error('the endpoint does not authenticate administrators')
  return `admin:${state.admin}`
}

const answer = async <Body>(
  ctx: EdgeContext,
  parts: AdminParts,
  { named, body, handle }: { readonly named: PathNames; readonly body: Body; readonly handle: Handle<Body> },
): Promise<void> => {
  const { id = '', key = '' } = named
  const call = { ctx, id, key, body, books: { ...parts.books, actor: actorOf(ctx) } }
  const answered = await withTimeout(Promise.resolve(handle(call, parts)), edgeLimits.adminChangeMs, () =>
    logUnavailable(),
  )
  ctx.status = answered.status ?? 200
  ctx.body = answered.body
}

type RouteDescription = Pick<AdminRoute, 'summary' | 'answer' | 'query'>

const withoutBody = (
  method: AdminRoute['method'],
  path: string,
  told: RouteDescription,
  handle: Handle<undefined>,
): AdminRoute => ({
  ...told,
  method,
  path,
  request: null,
  changes: method !== 'get',
  serve: (ctx, named, parts) => answer(ctx, parts, { named, body: undefined, handle }),
})

const withBody =
  (method: AdminRoute['method']) =>
  <Body>(path: string, request: string, told: RouteDescription, handle: Handle<Body>): AdminRoute => ({
    ...told,
    method,
    path,
    request,
    changes: true,
    serve: (ctx, named, parts) =>
      answer(ctx, parts, { named, body: readBody<Body>(request, jsonOfContext(ctx).value), handle }),
  })

export const getRoute = (path: string, told: RouteDescription, handle: Handle<undefined>): AdminRoute =>
  withoutBody('get', path, told, handle)
export const deleteRoute = (path: string, told: RouteDescription, handle: Handle<undefined>): AdminRoute =>
  withoutBody('delete', path, told, handle)
export const actionRoute = (path: string, told: RouteDescription, handle: Handle<undefined>): AdminRoute =>
  withoutBody('post', path, told, handle)
export const postRoute = withBody('post')
export const putRoute = withBody('put')
export const patchRoute = withBody('patch')

/** Milliseconds since the epoch. Throws `invalid_value` for an instant in the past. */
export const futureMs = (text: string, param: string, { clock }: Pick<AdminParts, 'clock'>): number => {
  const ms = Date.parse(text)
  if (!(ms > clock())) throw new GatewayError('invalid_value', `Invalid value for '${param}': it is over.`, { param })
  return ms
}
