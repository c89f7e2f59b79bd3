import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { Key } from '../../../domain/accounts/accounts.ts'
import type { RequestRates } from '../rates/request-rates.ts'
import type { RequestTrace } from '../request-trace.ts'

/** A body that is JSON, and how long it was on the wire. */
export interface ReceivedJson {
  readonly value: unknown
  readonly bytesLength: number
}

/** What the middleware found out about a request, in the order in which it did. */
export interface EdgeState extends DefaultState {
  requestId: string
  trace: RequestTrace
  key?: Key
  /** Who administers. */
  admin?: string
  /** Whose ledger an administrator reads; null for everybody's. */
  reads?: string | null
  /** Where the caller's requests are limited. */
  rates?: RequestRates
  json?: ReceivedJson
}

export type EdgeContext = ParameterizedContext<EdgeState, object>
export type EdgeMiddleware = (ctx: EdgeContext, next: Next) => Promise<void> | void

/** Who calls. Throws where the endpoint does not authenticate. */
export const keyOfContext = ({ state }: EdgeContext): Key => {
  if (state.key === undefined) throw new Error('the endpoint does not authenticate')
  return state.key
}

/** Whose ledger is read: that of the key, or the one that an administrator named; null for everybody's. */
export const canRead = (ctx: EdgeContext): string | null => {
  const { reads } = ctx.state
  return reads === undefined ? keyOfContext(ctx).workspaceId : reads
}

/** The workspace whose ledger is read. Throws where the endpoint names none. */
export const readableWorkspace = (ctx: EdgeContext): string => {
  const workspaceId = canRead(ctx)
  if (workspaceId === null) throw new Error('the endpoint reads the ledger of one workspace')
  return workspaceId
}

/** Who asks, and by which request. Throws where the endpoint does not authenticate. */
export const callerOfContext = (ctx: EdgeContext): { readonly requestId: string; readonly key: Key } => ({
  requestId: ctx.state.requestId,
  key: keyOfContext(ctx),
})

/** The body. Throws where the endpoint reads none. */
export const jsonOfContext = ({ state }: EdgeContext): ReceivedJson => {
  if (state.json === undefined) throw new Error('the endpoint reads no body')
  return state.json
}
