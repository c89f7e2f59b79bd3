import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import cors from '@koa/cors'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpContext, HttpMiddleware } from '../../../http/context.ts'
import { errorStatusOf } from '../../../http/error-table.ts'
import { errorBodyAt, type FaultReporter } from '../../../http/errors.ts'
import type { NewId } from '../../../runtime/clock.ts'
import { listenerLimits } from './limits.ts'

/** OpenAI's SDKs expose the second one, Anthropic's the third. */
export const requestIdHeaders = ['X-Gateway-Request-Id', 'x-request-id', 'request-id'] as const

/** The id of the original request, in the response to a repeat of its idempotency key. */
export const originalRequestHeader = 'X-Gateway-Original-Request-Id'

/** Unless its route sets other headers, no cache shares a response and no browser renders it as a page. */
export const identifyRequest =
  (newId: NewId): HttpMiddleware =>
  (ctx, next) => {
    ctx.state.requestId = newId()
    for (const name of requestIdHeaders) ctx.res.setHeader(name, ctx.state.requestId)
    ctx.res.setHeader('Cache-Control', 'no-store')
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff')
    return next()
  }

/** The APIs that clients call with a key; not administration, the ledger and the page. */
const isCalledByClients = (path: string): boolean =>
  /^\/(?:v1|v1beta|vv)\//i.test(path) && !/^\/v1\/(?:ledger|dashboard)(?:\/|$)/i.test(path)

/** Browsers let scripts of these origins call the API, with a key: no cookie is ever read. Other origins see no change. */
export const allowOrigins = (origins: readonly string[]): HttpMiddleware => {
  const allowed = new Set(origins)
  const share = cors({
    origin: ({ headers: { origin = '' } }) => (allowed.has(origin) ? origin : ''),
    allowMethods: ['GET', 'POST', 'DELETE'],
    exposeHeaders: '*',
    keepHeadersOnError: false, // Errors are rendered further in.
    maxAge: listenerLimits.preflightSeconds,
  })
  return (ctx, next) => (isCalledByClients(ctx.path) ? share(ctx, next) : next())
}

/** Of duplicates Node takes the first or joins them, and a proxy in front of the gateway may take the other. */
const single: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'idempotency-key',
  'x-api-key',
  'x-goog-api-key',
])

const repeatedIn = ({ rawHeaders, headers }: IncomingMessage): string | null => {
  // Each has a name of its own; `moveKeyToHeader` adds one that did not come.
  if (headers['x-goog-api-key'] === undefined && 2 * Object.keys(headers).length === rawHeaders.length) return null
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase()
    if (!single.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return null
}

/** With a second transfer coding the body is not what its headers declare; HTTP/1.0 has no transfer codings. */
const isFramedOddly = ({ headers, httpVersion }: IncomingMessage): boolean => {
  const coding = headers['transfer-encoding']
  return coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')
}

const ambiguityIn = (request: IncomingMessage, headersCountMax: number): string | null => {
  if (request.rawHeaders.length > 2 * headersCountMax) return `The request has more than ${headersCountMax} headers.`
  if (request.headers.host === undefined && request.httpVersion !== '1.0') return 'The request has no header `Host`.'
  const repeated = repeatedIn(request)
  if (repeated !== null) return `The request has the header \`${repeated}\` twice.`
  return isFramedOddly(request) ? 'The only transfer coding that is understood is `chunked`.' : null
}

/** Ends the connection on what two parsers can read differently: the next request may begin elsewhere. */
const refuseAmbiguous = (ctx: HttpContext, headersCountMax: number): void => {
  const ambiguity = ambiguityIn(ctx.req, headersCountMax)
  if (ambiguity === null) return
  ctx.set('Connection', 'close')
  throw new GatewayError('invalid_request', ambiguity)
}

/** The path of a target in absolute form, as proxies get it; null for anything else that is no path. */
const pathOf = (target: string): string | null => {
  const url = URL.parse(target)
  return url !== null && /^https?:$/.test(url.protocol) ? url.pathname + url.search : null
}

const normalizeTarget = (ctx: HttpContext): void => {
  if (ctx.url.startsWith('/')) return
  const path = pathOf(ctx.url)
  ctx.url = path ?? '/'
  if (path !== null) return
  throw new GatewayError('invalid_request', 'The target of the request must be a path, or an http:// or https:// URL.')
}

const geminiTarget = /^(?:https?:\/\/[^/?]*)?\/v1(?:beta)?\/models\b/i

/**
 * Google's clients may send the key in the address: it becomes a header before anything else reads, or keeps, the
 * address. A key in a header takes precedence.
 */
export const moveKeyToHeader = (request: IncomingMessage): void => {
  const { url = '' } = request
  const at = url.indexOf('?')
  if (at < 0 || !geminiTarget.test(url)) return
  const query = new URLSearchParams(url.slice(at))
  const key = query.get('key')
  if (key === null) return
  query.delete('key')
  request.url = url.slice(0, at) + (query.size === 0 ? '' : `?${query}`)
  request.headers['x-goog-api-key'] ??= key
}

/** As Node, which answers it, understands it. */
const isContinue = /(?:^|\W)100-continue(?:$|\W)/i

/** HTTP/1.0 knows no expectations. */
const refuseExpectation = ({ headers, httpVersion }: IncomingMessage): void => {
  if (headers.expect === undefined || isContinue.test(headers.expect) || httpVersion === '1.0') return
  throw new GatewayError('invalid_request', 'The only expectation that is understood is `100-continue`.', {
    status: 417,
  })
}

/** Throws `invalid_request`, 417 for a request that expects what there is not. After it every request has a path. */
export const refuseMalformed =
  (headersCountMax: number): HttpMiddleware =>
  (ctx, next) => {
    normalizeTarget(ctx)
    refuseAmbiguous(ctx, headersCountMax)
    refuseExpectation(ctx.req)
    return next()
  }

/** Node hands on every request that it reads. A refusal is answered in its turn, so reading stops meanwhile. */
export const refusePipelined = (requestsMax: number): HttpMiddleware => {
  const open = new WeakMap<Socket, number>()
  const add = (socket: Socket, change: 1 | -1): number => {
    const count = (open.get(socket) ?? 0) + change
    open.set(socket, count)
    return count
  }
  return ({ req: { socket }, res }, next) => {
    const count = add(socket, 1)
    res.once('close', () => add(socket, -1))
    if (count <= requestsMax) return next()
    throw new GatewayError(
      'concurrency_limit_exceeded',
      `The connection has more than ${requestsMax} requests that are not answered.`,
      { retryAfterSeconds: 1 },
    )
  }
}

/** SDKs repeat a request after any 409 unless the second header is `false`. */
const setRepeatHeaders = (ctx: HttpContext, { requestId, isRetryable }: NonNullable<GatewayError['repeats']>): void => {
  ctx.set(originalRequestHeader, requestId)
  ctx.set('x-should-retry', String(isRetryable))
}

const renderError = (ctx: HttpContext, error: GatewayError): void => {
  if (ctx.res.closed) return // Its client went first.
  ctx.state.trace.code = error.code
  if (ctx.res.headersSent) {
    // Part of the answer is sent: only a broken connection still shows that the rest is missing.
    ctx.respond = false
    ctx.res.destroy()
    return
  }
  ctx.respond = true
  if (error.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(error.retryAfterSeconds))
  if (error.repeats !== undefined) setRepeatHeaders(ctx, error.repeats)
  if (error.code === 'not_implemented') ctx.set('x-should-retry', 'false') // SDKs would ask again after any 5xx.
  ctx.status = errorStatusOf(error)
  ctx.set('Content-Type', 'application/json')
  ctx.body = JSON.stringify(errorBodyAt(ctx.path, error, ctx.state.requestId))
}

/** The one place that turns what was thrown into a response. */
export const renderErrors =
  (faults: FaultReporter): HttpMiddleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (fault) {
      renderError(ctx, faults.toGatewayError(fault, ctx.state.requestId))
    }
  }
