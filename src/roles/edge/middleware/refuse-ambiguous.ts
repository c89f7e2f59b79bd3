import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeMiddleware } from './context.ts'

/** Of duplicates Node takes the first or joins them, and a proxy in front of the gateway may take the other. */
const single: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'idempotency-key',
  'x-api-key',
])

const repeatedIn = (rawHeaders: readonly string[]): string | null => {
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
  const repeated = repeatedIn(request.rawHeaders)
  if (repeated !== null) return `The request has the header \`${repeated}\` twice.`
  return isFramedOddly(request) ? 'The only transfer coding that is understood is `chunked`.' : null
}

/**
 * Throws `invalid_request` for what two parsers can read differently, and for too many headers, and ends the
 * connection: the next request may begin elsewhere.
 */
export const refuseAmbiguous =
  (headersCountMax: number): EdgeMiddleware =>
  (ctx, next) => {
    const ambiguity = ambiguityIn(ctx.req, headersCountMax)
    if (ambiguity === null) return next()
    ctx.set('Connection', 'close')
    throw new GatewayError('invalid_request', ambiguity)
  }
