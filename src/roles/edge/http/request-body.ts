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

const firstBytes = 64 * 1024

/** Small pieces are copied together: each by itself would take some hundred bytes more. */
class BodyBytes {
  readonly #announced: number
  #buffer: Buffer
  #length = 0

  constructor(announced: number) {
    this.#announced = announced
    this.#buffer = Buffer.allocUnsafe(Math.min(announced, firstBytes))
  }

  /** Without spare room, since it may be kept for long. */
  get whole(): Buffer {
    return this.#length === this.#buffer.length ? this.#buffer : Buffer.from(this.#buffer.subarray(0, this.#length))
  }

  push(chunk: Buffer): void {
    const length = this.#length + chunk.length
    if (length > this.#buffer.length) this.#grow(length)
    this.#buffer.set(chunk, this.#length)
    this.#length = length
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafe(this.#announced > 0 ? Math.min(2 * length, this.#announced) : 2 * length)
    larger.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = larger
  }
}

const collect = (request: IncomingMessage, body: BodyBytes, count: (bytes: number) => void): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const leave = (): void => {
      request.off('data', take).off('end', finish).off('close', breakOff)
    }
    const take = (chunk: Buffer): void => {
      try {
        count(chunk.length)
        body.push(chunk)
      } catch (refusal) {
        leave()
        request.pause() // Until it is answered: see `UnreadBodies`.
        reject(refusal)
      }
    }
    const finish = (): void => {
      leave()
      resolve(body.whole)
    }
    const breakOff = (): void => {
      leave()
      reject(endedEarly())
    }
    request.on('data', take).on('end', finish).on('close', breakOff)
    request.on('error', () => undefined) // `close` follows.
  })

/** Throws the refusal of its bound or `byte_limit_exceeded`, without reading anything where the length is announced. */
export const readRequestBody = async (
  { req, state }: Pick<HttpContext, 'req' | 'state'>,
  { bytesMax, refusal }: BodyBound,
): Promise<Buffer> => {
  const announced = Number(req.headers['content-length'] ?? 0)
  if (announced > bytesMax) throw refusal()
  state.openBytes?.take(0, announced)
  let bytes = 0
  return collect(req, new BodyBytes(announced), (more) => {
    bytes += more
    if (bytes > bytesMax) throw refusal()
    state.openBytes?.take(more)
  })
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

/** Throws what `readRequestBody` throws, `unsupported_media_type`, `request_too_large` or `invalid_json`. */
export const readJson =
  (boundOf: BodyBoundOf, options?: JsonBodyOptions): HttpMiddleware =>
  async (ctx, next) => {
    requireJson(ctx.req.headers)
    const bytes = await readRequestBody(ctx, boundOf(ctx))
    ctx.state.json = { value: parseJsonBody(bytes, options), bytesLength: bytes.length }
    await next()
  }
