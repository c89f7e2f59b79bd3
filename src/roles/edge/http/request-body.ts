import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { parseWithWideIntegers } from '../../../encoding/json.ts'
import { type JsonBounds, scanJson } from '../../../encoding/scan-json.ts'
import { GatewayError, truncateName } from '../../../errors/gateway-error.ts'
import type { HttpContext, HttpMiddleware } from '../../../http/context.ts'
import { sharedLimits } from '../../../runtime/limits.ts'

export interface BodyBound {
  readonly bytesMax: number
  readonly refusal: () => GatewayError
}

export type BodyBoundOf = (ctx: HttpContext) => BodyBound

const tooLarge = (bytesMax: number): GatewayError =>
  new GatewayError('request_too_large', `The request body is larger than ${bytesMax} bytes.`)

export const boundAt = (bytesMax: number): BodyBoundOf => {
  const bound: BodyBound = { bytesMax, refusal: () => tooLarge(bytesMax) }
  return () => bound
}

const endedEarly = (): GatewayError =>
  new GatewayError('invalid_request', 'The connection ended before the request body did.')

const collect = (request: IncomingMessage, { bytesMax, refusal }: BodyBound): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const leave = (): void => {
      request.off('data', take).off('end', finish).off('close', breakOff)
    }
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes <= bytesMax) return
      leave()
      request.pause() // Until it is answered: see `UnreadBodies`.
      reject(refusal())
    }
    const finish = (): void => {
      leave()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes))
    }
    const breakOff = (): void => {
      leave()
      reject(endedEarly())
    }
    request.on('data', take).on('end', finish).on('close', breakOff)
    request.on('error', () => undefined) // `close` follows.
  })

/** Throws the refusal of its bound, without reading anything where the length is announced. */
export const readRequestBody = (request: IncomingMessage, bound: BodyBound): Promise<Buffer> => {
  const announced = Number(request.headers['content-length'] ?? 0)
  return announced > bound.bytesMax ? Promise.reject(bound.refusal()) : collect(request, bound)
}

const jsonType = /^application\/(?:[\w.!#$&^-]+\+)?json$/
const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i
const utf8 = /^utf-?8$/i

const invalidJson = (message: string): GatewayError => new GatewayError('invalid_json', message)

/** Throws `unsupported_media_type` for a compressed body: a small one may unpack to gigabytes. */
export const refuseEncoded = ({ 'content-encoding': encoding }: IncomingHttpHeaders): void => {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new GatewayError('unsupported_media_type', 'A compressed request body is not understood.')
}

const requireJson = (headers: IncomingHttpHeaders): void => {
  const { 'content-type': contentType = '' } = headers
  const [mediaType = ''] = contentType.split(';', 1)
  const [, encodedIn = 'utf-8'] = charset.exec(contentType) ?? []
  if (!jsonType.test(mediaType.trim().toLowerCase()) || !utf8.test(encodedIn))
    throw new GatewayError('unsupported_media_type', 'The request body must be `application/json` in UTF-8.')
  refuseEncoded(headers)
}

const jsonBounds: JsonBounds = { depthMax: sharedLimits.jsonDepthMax, membersMax: sharedLimits.jsonMembersMax }

const tooManyMembers = (): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The request body has more than ${jsonBounds.membersMax} members and elements. Send fewer messages, parts or tools in one request.`,
  )

interface JsonBodyOptions {
  /** A `WideInteger` in place of each integer that a number would round. */
  readonly keepsDigits?: boolean
}

/** `invalid_json` also for unbounded nesting and a name given twice; `request_too_large` for too many members. */
export const parseJsonBody = (bytes: Buffer, { keepsDigits = false }: JsonBodyOptions = {}): unknown => {
  if (!isUtf8(bytes)) throw invalidJson('The request body is not valid UTF-8.')
  const text = bytes.toString()
  const { tooDeep, tooMany, duplicate, hasLongNumber } = scanJson(text, jsonBounds)
  if (tooMany) throw tooManyMembers()
  if (tooDeep) throw invalidJson(`The request body nests deeper than ${jsonBounds.depthMax} levels.`)
  if (duplicate !== null)
    throw invalidJson(`The request body has ${JSON.stringify(truncateName(duplicate))} twice in one object.`)
  return parse(text, keepsDigits && hasLongNumber ? parseWithWideIntegers : JSON.parse)
}

const parse = (text: string, read: (text: string) => unknown): unknown => {
  try {
    return read(text)
  } catch {
    // The parser's own message quotes the body.
    throw invalidJson('The request body is not valid JSON.')
  }
}

/** Throws `unsupported_media_type`, the refusal of its bound, `request_too_large` or `invalid_json`. */
export const readJson =
  (boundOf: BodyBoundOf, options?: JsonBodyOptions): HttpMiddleware =>
  async (ctx, next) => {
    requireJson(ctx.req.headers)
    const bytes = await readRequestBody(ctx.req, boundOf(ctx))
    ctx.state.json = { value: parseJsonBody(bytes, options), bytesLength: bytes.length }
    await next()
  }
