import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Next } from 'koa'
import { parseWithWideIntegers } from '../../../encoding/json.ts'
import { readJsonInSteps } from '../../../encoding/read-json.ts'
import { type JsonBounds, JsonScanner } from '../../../encoding/scan-json.ts'
import { finishSteps, type RunStep, takeSteps } from '../../../encoding/steps.ts'
import { GatewayError, truncateName } from '../../../errors/gateway-error.ts'
import type { HttpContext, HttpMiddleware, HttpState } from '../../../http/context.ts'
import { Collectable, useMade } from '../../../runtime/collectable.ts'
import { runWhereLarge } from '../../../runtime/large-steps.ts'
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

/** In one piece: each small chunk by itself would take some hundred bytes more. */
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

/** Takes a piece at once, or when its turn comes. What it throws or rejects with refuses the body. */
type TakePiece = (piece: Buffer) => unknown

const collect = (request: IncomingMessage, takePiece: TakePiece): Promise<void> =>
  new Promise((resolve, reject) => {
    if (request.destroyed) return reject(endedEarly()) // Its `close` may be over.
    let taken: unknown
    const leave = (): void => {
      request.off('data', take).off('end', finish).off('close', breakOff)
    }
    const refuse = (refusal: unknown): void => {
      leave()
      request.pause() // Until it is answered: see `UnreadBodies`.
      reject(refusal)
    }
    const take = (piece: Buffer): void => {
      try {
        taken = takePiece(piece)
        if (!(taken instanceof Promise)) return
        request.pause()
        taken.then(() => request.resume(), refuse)
      } catch (refusal) {
        refuse(refusal)
      }
    }
    // A stream that is paused at its last piece ends all the same.
    const finish = async (): Promise<void> => {
      leave()
      try {
        await taken
        resolve()
      } catch (refusal) {
        reject(refusal)
      }
    }
    const breakOff = (): void => {
      leave()
      reject(endedEarly())
    }
    request.on('data', take).on('end', finish).on('close', breakOff)
    request.on('error', () => undefined) // `close` follows.
  })

/**
 * Throws the refusal of its bound or `byte_limit_exceeded`, without reading anything where the length is announced; and
 * what `check` throws for a piece, without reading what follows it.
 */
export const readRequestBody = async (
  { req, state }: Pick<HttpContext, 'req' | 'state'>,
  { bytesMax, refusal }: BodyBound,
  check: (piece: Buffer) => void = () => undefined,
): Promise<Buffer> => {
  const announced = Number(req.headers['content-length'] ?? 0)
  if (announced > bytesMax) throw refusal()
  state.openBytes?.take(0, announced)
  const body = new BodyBytes(announced)
  let bytes = 0
  await collect(req, (piece) => {
    bytes += piece.length
    if (bytes > bytesMax) throw refusal()
    state.openBytes?.take(piece.length)
    return runWhereLarge(largeOf(state, bytes), () => {
      check(piece)
      body.push(piece)
    })
  })
  return body.whole
}

const largeOf = ({ key, admin = '' }: HttpState, bytes: number) => ({ workspaceId: key?.workspaceId ?? admin, bytes })

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

const jsonBounds = {
  depthMax: sharedLimits.jsonDepthMax,
  membersMax: sharedLimits.jsonMembersMax,
  nameCharactersMax: sharedLimits.jsonNameCharactersMax,
  oneNameCharactersMax: sharedLimits.jsonOneNameCharactersMax,
  differentNamesMax: sharedLimits.jsonDifferentNamesMax,
} satisfies JsonBounds

const tooManyMembers = (membersMax: number): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The request body has more than ${membersMax} members and elements. Send less in one request, such as fewer messages, parts or tools.`,
  )

const tooLongNames = (): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The names of the request body's members have more than ${jsonBounds.nameCharactersMax} characters in total, or one has more than ${jsonBounds.oneNameCharactersMax}.`,
  )

const manyNames = (): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The members of the request body's objects have more than ${jsonBounds.differentNamesMax} different names.`,
  )

interface JsonBodyOptions {
  /** A `WideInteger` in place of each integer that a number would round. */
  readonly keepsDigits?: boolean
  readonly membersMax?: number
}

class JsonCheck {
  readonly #options: Required<JsonBodyOptions>
  readonly #scanner: JsonScanner

  constructor({ keepsDigits = false, membersMax = jsonBounds.membersMax }: JsonBodyOptions = {}) {
    this.#options = { keepsDigits, membersMax }
    this.#scanner = new JsonScanner({ ...jsonBounds, membersMax })
  }

  /** Throws `invalid_json`, for unbounded nesting and a name given twice, and `request_too_large` for too many members. */
  readonly push = (piece: Buffer): void => {
    this.#scanner.push(piece.toString('latin1'))
    const { tooDeep, tooMany, tooMuchNamed, tooManyNames, duplicate } = this.#scanner.findings
    if (tooMany) throw tooManyMembers(this.#options.membersMax)
    if (tooMuchNamed) throw tooLongNames()
    if (tooManyNames) throw manyNames()
    if (tooDeep) throw invalidJson(`The request body nests deeper than ${jsonBounds.depthMax} levels.`)
    if (duplicate !== null)
      throw invalidJson(`The request body has ${JSON.stringify(truncateName(duplicate))} twice in one object.`)
  }

  /** The value of all pieces, whose bytes are UTF-8. Throws `invalid_json`. */
  readonly read = (bytes: Buffer): Generator<void, unknown> => {
    const keepsDigits = this.#options.keepsDigits && this.#scanner.findings.hasLongNumber
    return readSteps(bytes, keepsDigits ? parseWithWideIntegers : JSON.parse)
  }
}

const requireUtf8 = (bytes: Buffer): void => {
  if (!isUtf8(bytes)) throw invalidJson('The request body is not valid UTF-8.')
}

export const checkJsonBody = (bytes: Buffer, options?: JsonBodyOptions): (() => unknown) => {
  const check = new JsonCheck(options)
  check.push(bytes)
  requireUtf8(bytes)
  return () => finishSteps(check.read(bytes))
}

function* readSteps(bytes: Buffer, read: (text: string) => unknown): Generator<void, unknown> {
  try {
    return yield* readJsonInSteps(bytes, { read })
  } catch {
    // The parser's own message quotes the body.
    throw invalidJson('The request body is not valid JSON.')
  }
}

/** The value of a large body is read from its bytes again where the collector has taken it. */
const receiveJson = async (large: ReturnType<typeof largeOf>, bytes: Buffer, check: JsonCheck) => {
  const inStep: RunStep = (step) => runWhereLarge(large, step)
  await inStep(() => requireUtf8(bytes))
  const value = await takeSteps(check.read(bytes), inStep)
  return new Collectable(() => check.read(bytes), bytes.length, value)
}

/** What follows finds the JSON as it is, in a turn of its own where that is large. */
export const nextWithJson = ({ state }: HttpContext, next: Next): Promise<void> => {
  const { json } = state
  const large = largeOf(state, json?.bytesLength ?? 0)
  return json instanceof Collectable && large.bytes > sharedLimits.turnBytes
    ? useMade(large, json, () => next())
    : runWhereLarge(large, next)
}

/** Throws what `readRequestBody` throws, `unsupported_media_type`, `request_too_large` or `invalid_json`. */
export const readJson =
  (boundOf: BodyBoundOf, options?: JsonBodyOptions): HttpMiddleware =>
  async (ctx, next) => {
    requireJson(ctx.req.headers)
    const check = new JsonCheck(options)
    const bytes = await readRequestBody(ctx, boundOf(ctx), check.push)
    const large = largeOf(ctx.state, bytes.length)
    ctx.state.json = await receiveJson(large, bytes, check)
    return nextWithJson(ctx, next) // Not awaited: the check would be kept until the answer.
  }
