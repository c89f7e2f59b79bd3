import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { type JsonBounds, scanJson } from '../../../encoding/scan-json.ts'
import { GatewayError, truncateName } from '../../../errors/gateway-error.ts'
import type { HttpContext, HttpMiddleware, ReceivedJson } from '../../../http/context.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { BodyBound, BodyBoundOf } from './read-body.ts'
import { readRequestBody } from './read-body.ts'

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

/** `invalid_json` also for unbounded nesting and a name given twice; `request_too_large` for too many members. */
export const parseJsonBody = (bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw invalidJson('The request body is not valid UTF-8.')
  const text = bytes.toString()
  const { tooDeep, tooMany, duplicate } = scanJson(text, jsonBounds)
  if (tooMany) throw tooManyMembers()
  if (tooDeep) throw invalidJson(`The request body nests deeper than ${jsonBounds.depthMax} levels.`)
  if (duplicate !== null)
    throw invalidJson(`The request body has ${JSON.stringify(truncateName(duplicate))} twice in one object.`)
  return parse(text)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the body.
    throw invalidJson('The request body is not valid JSON.')
  }
}

const receive = async (ctx: HttpContext, bound: BodyBound): Promise<ReceivedJson> => {
  const bytes = await readRequestBody(ctx.req, bound)
  return { value: parseJsonBody(bytes), bytesLength: bytes.length }
}

/** Throws `unsupported_media_type`, the refusal of its bound, `request_too_large` or `invalid_json`. */
export const readJson =
  (boundOf: BodyBoundOf): HttpMiddleware =>
  async (ctx, next) => {
    requireJson(ctx.req.headers)
    ctx.state.json = await receive(ctx, boundOf(ctx))
    await next()
  }
