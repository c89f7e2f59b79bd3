import type { ServerResponse } from 'node:http'
import type { GatewayError } from '../../../../errors/gateway-error.ts'
import type { HttpContext } from '../../../../http/context.ts'
import type { FaultReporter } from '../../../../http/errors.ts'
import { disconnectAfter } from '../../../../http/slow-clients.ts'
import { surfaceLimits } from '../limits.ts'
import type { InferenceAnswer } from './inference.ts'

export interface StreamFormat {
  /** Default: `text/event-stream`. */
  readonly contentType?: string
  /** Sent while the stream is idle, so that no proxy drops the connection. */
  readonly keepAlive: Uint8Array
  /** Receives every chunk of the stream but our own. */
  observe?(piece: Uint8Array): void
  /** An error in the format of the surface, with the stream's own end. */
  errorEvent(error: GatewayError): Uint8Array
}

/** A comment, which every parser of events ignores. */
export const keepAliveComment = Buffer.from(': keep-alive\n\n')

/** Fires when the client leaves before its response is complete. */
export const clientGoneOf = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  const check = (): void => {
    if (!response.writableFinished) controller.abort()
  }
  if (response.closed) check()
  else response.once('close', check)
  return controller.signal
}

const goesOn = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle).off('close', settle)
      resolve()
    }
    response.on('drain', settle).on('close', settle)
  })

const headers = { 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' } as const
const blankLine = Buffer.from('\n\n')

const twoLineFeeds = 0x0a0a
const twoCarriageReturns = 0x0d0d
const twoLineEnds = 0x0d0a0d0a

const lastBytes = (before: number, chunk: Uint8Array): number => {
  let last = before
  for (let at = Math.max(0, chunk.length - 4); at < chunk.length; at += 1) last = (last << 8) | chunk[at]!
  return last
}

const endsEvent = (last: number): boolean => {
  const lastTwo = last & 0xffff
  return lastTwo === twoLineFeeds || lastTwo === twoCarriageReturns || last === twoLineEnds
}

export interface StreamBounds {
  readonly keepAliveCommentMs: number
  readonly clientStallMs: number
  readonly answerReadMs: number
}

/** How long a client may keep its answer waiting: each piece `clientStallMs`, all of it `answerReadMs`. Then it is disconnected. */
class ReadingTime {
  readonly #response: ServerResponse
  readonly #stallMs: number
  #leftMs: number

  constructor(response: ServerResponse, { clientStallMs, answerReadMs }: StreamBounds) {
    this.#response = response
    this.#stallMs = clientStallMs
    this.#leftMs = answerReadMs
  }

  async drained(): Promise<void> {
    if (this.#response.closed) return
    const sinceMs = performance.now()
    const cancel = this.#bound()
    await goesOn(this.#response)
    cancel()
    this.#leftMs -= performance.now() - sinceMs
  }

  end(): void {
    if (this.#response.closed) return
    this.#bound()
    this.#response.end()
  }

  #bound(): () => void {
    return disconnectAfter(this.#response, Math.min(this.#stallMs, this.#leftMs))
  }
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  if (bytes.length <= surfaceLimits.answerPieceBytes) yield bytes
  else
    for (let at = 0; at < bytes.length; at += surfaceLimits.answerPieceBytes)
      yield bytes.subarray(at, at + surfaceLimits.answerPieceBytes)
}

class EventStream {
  readonly #response: ServerResponse
  readonly #contentType: string
  readonly #bounds: StreamBounds
  readonly #time: ReadingTime
  readonly #format: StreamFormat
  #keepAlive: NodeJS.Timeout | undefined
  #last = twoLineFeeds
  #full = false

  constructor(response: ServerResponse, contentType: string, bounds: StreamBounds, format: StreamFormat) {
    this.#response = response
    this.#contentType = contentType
    this.#bounds = bounds
    this.#time = new ReadingTime(response, bounds)
    this.#format = format
  }

  get begun(): boolean {
    return this.#keepAlive !== undefined
  }

  get clientGone(): boolean {
    return this.#response.closed
  }

  /** True when the client does not keep up: await `drained` before the next write. */
  write(chunk: Uint8Array): boolean {
    if (this.#keepAlive === undefined) this.#begin()
    else this.#keepAlive.refresh()
    this.#format.observe?.(chunk)
    this.#last = lastBytes(this.#last, chunk)
    this.#full = !this.#response.write(chunk)
    return this.#full
  }

  async drained(): Promise<void> {
    await this.#time.drained()
    this.#full = false
  }

  /** Sends an error event, after a blank line where the last event was cut. */
  fail(error: GatewayError): void {
    if (this.clientGone) return
    if (!endsEvent(this.#last)) this.write(blankLine)
    this.write(this.#format.errorEvent(error))
  }

  end(): void {
    clearInterval(this.#keepAlive)
    this.#time.end()
  }

  #begin(): void {
    this.#response.writeHead(200, { 'Content-Type': this.#contentType, ...headers })
    this.#keepAlive = setInterval(() => this.#sendKeepAlive(), this.#bounds.keepAliveCommentMs)
  }

  /** Only between events: inside one it would break it. */
  #sendKeepAlive(): void {
    if (endsEvent(this.#last) && !this.#full && !this.clientGone)
      this.#full = !this.#response.write(this.#format.keepAlive)
  }
}

interface AnswerParts {
  readonly bounds: StreamBounds
  readonly faults: FaultReporter
  readonly streamFormat: StreamFormat
}

const empty = (): Error => new Error('an answer has bytes')

const relayEvents = async (ctx: HttpContext, { head, bytes }: InferenceAnswer, parts: AnswerParts): Promise<void> => {
  const stream = new EventStream(ctx.res, head.contentType, parts.bounds, parts.streamFormat)
  ctx.respond = false
  try {
    for await (const chunk of bytes) {
      for (const piece of piecesOf(chunk)) if (!stream.clientGone && stream.write(piece)) await stream.drained()
      if (stream.clientGone) break
    }
    if (!stream.begun && !stream.clientGone) throw empty()
  } catch (fault) {
    if (!stream.begun) throw fault
    const error = parts.faults.toGatewayError(fault, ctx.state.requestId)
    if (!stream.clientGone) ctx.state.trace.code = error.code
    stream.fail(error)
  }
  stream.end()
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

const relayPieces = async (
  ctx: HttpContext,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bounds: StreamBounds,
): Promise<void> => {
  ctx.respond = false
  ctx.res.statusCode = 200
  const time = new ReadingTime(ctx.res, bounds)
  for await (const chunk of bytes)
    for (const piece of piecesOf(chunk)) {
      if (ctx.res.closed) return
      if (!ctx.res.write(piece)) await time.drained()
    }
  time.end()
}

const sendPiece = (ctx: HttpContext, body: Uint8Array, { clientStallMs }: StreamBounds): void => {
  disconnectAfter(ctx.res, clientStallMs)
  ctx.status = 200
  ctx.body = asBuffer(body)
}

async function* joined(pieces: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces
    yield* { [Symbol.asyncIterator]: () => rest }
  } finally {
    await rest.return?.()
  }
}

const sendBody = async (ctx: HttpContext, { head, bytes }: InferenceAnswer, bounds: StreamBounds): Promise<void> => {
  const rest = bytes[Symbol.asyncIterator]()
  const first = await rest.next()
  if (first.done === true) throw empty()
  const second = await rest.next()
  ctx.set('Content-Type', head.contentType)
  if (second.done !== true) return relayPieces(ctx, joined([first.value, second.value], rest), bounds)
  if (first.value.length <= surfaceLimits.answerPieceBytes) return sendPiece(ctx, first.value, bounds)
  ctx.length = first.value.length
  return relayPieces(ctx, [first.value], bounds)
}

/** Throws what broke the answer off as long as nothing was sent; a stream then ends with an error event. */
export const sendAnswer = (ctx: HttpContext, answer: InferenceAnswer, parts: AnswerParts): Promise<void> =>
  answer.head.contentType.startsWith(parts.streamFormat.contentType ?? 'text/event-stream')
    ? relayEvents(ctx, answer, parts)
    : sendBody(ctx, answer, parts.bounds)
