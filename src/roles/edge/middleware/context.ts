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
  /** Where the caller's requests are limited. */
  rates?: RequestRates
  json?: ReceivedJson
}

export type EdgeContext = ParameterizedContext<EdgeState, object>
export type EdgeMiddleware = (ctx: EdgeContext, next: Next) => Promise<void> | void

/** Who calls. Throws where the endpoint does not authenticate. */
export const keyOf = ({ state }: EdgeContext): Key => {
  if (state.key === undefined) throw new Error('the endpoint does not authenticate')
  return state.key
}

/** Who asks, and by which request. Throws where the endpoint does not authenticate. */
export const askerOf = (ctx: EdgeContext): { readonly requestId: string; readonly key: Key } => ({
  requestId: ctx.state.requestId,
  key: keyOf(ctx),
})

/** The body. Throws where the endpoint reads none. */
export const jsonOf = ({ state }: EdgeContext): ReceivedJson => {
  if (state.json === undefined) throw new Error('the endpoint reads no body')
  return state.json
}
