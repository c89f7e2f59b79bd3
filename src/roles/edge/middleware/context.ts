import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { Key } from '../../../domain/accounts/accounts.ts'
import type { RequestRates } from '../rates/request-rates.ts'
import type { RequestTrace } from '../request-trace.ts'

export interface ReceivedJson {
  readonly value: unknown
  readonly bytesLength: number
}

/** Set by the middleware, in this order. */
export interface EdgeState extends DefaultState {
  requestId: string
  trace: RequestTrace
  key?: Key
  admin?: string
  /** The workspace whose ledger an administrator reads; null for all. */
  reads?: string | null
  rates?: RequestRates
  json?: ReceivedJson
}

export type EdgeContext = ParameterizedContext<EdgeState, object>
export type EdgeMiddleware = (ctx: EdgeContext, next: Next) => Promise<void> | void

/** Throws where the endpoint does not authenticate. */
export const keyOfContext = ({ state }: EdgeContext): Key => {
  if (state.key === undefined) throw new Error('the endpoint does not authenticate')
  return state.key
}

/** The key's, or the one that an administrator named; null for all. */
export const canRead = (ctx: EdgeContext): string | null => {
  const { reads } = ctx.state
  return reads === undefined ? keyOfContext(ctx).workspaceId : reads
}

/** Throws where the endpoint names no workspace. */
export const readableWorkspace = (ctx: EdgeContext): string => {
  const workspaceId = canRead(ctx)
  if (workspaceId === null) throw new Error('the endpoint reads the ledger of one workspace')
  return workspaceId
}

/** Throws where the endpoint does not authenticate. */
export const callerOfContext = (ctx: EdgeContext): { readonly requestId: string; readonly key: Key } => ({
  requestId: ctx.state.requestId,
  key: keyOfContext(ctx),
})

/** Throws where the endpoint reads no body. */
export const jsonOfContext = ({ state }: EdgeContext): ReceivedJson => {
  if (state.json === undefined) throw new Error('the endpoint reads no body')
  return state.json
}
