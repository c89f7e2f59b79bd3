import type { HttpContext } from '../../../../http/context.ts'
import type { FaultReporter } from '../../../../http/errors.ts'
import type { StreamBounds } from '../streaming/event-stream.ts'
import { EventStream } from '../streaming/event-stream.ts'
import { endResponse, waitForDrain } from '../streaming/response-writer.ts'
import type { StreamFormat } from '../streaming/stream-format.ts'
import type { InferenceAnswer } from './inference.ts'

export interface AnswerParts {
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
      if (stream.clientGone) break
      if (stream.write(chunk)) await stream.drained()
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
  pieces: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
  { clientStallMs }: StreamBounds,
): Promise<void> => {
  ctx.respond = false
  ctx.res.statusCode = 200
  for (const piece of pieces) ctx.res.write(piece)
  for await (const chunk of rest) {
    if (ctx.res.closed) return
    if (!ctx.res.write(chunk)) await waitForDrain(ctx.res, clientStallMs)
  }
  endResponse(ctx.res, clientStallMs)
}

const sendWhole = (ctx: HttpContext, body: Uint8Array, { clientStallMs }: StreamBounds): void => {
  ctx.res.setTimeout(clientStallMs)
  ctx.status = 200
  ctx.body = asBuffer(body)
}

const sendBody = async (ctx: HttpContext, { head, bytes }: InferenceAnswer, bounds: StreamBounds): Promise<void> => {
  const rest = bytes[Symbol.asyncIterator]()
  const first = await rest.next()
  if (first.done === true) throw empty()
  const second = await rest.next()
  ctx.set('Content-Type', head.contentType)
  if (second.done === true) sendWhole(ctx, first.value, bounds)
  else await relayPieces(ctx, [first.value, second.value], { [Symbol.asyncIterator]: () => rest }, bounds)
}

/** Throws what broke the answer off as long as nothing was sent; a stream then ends with an error event. */
export const sendAnswer = (ctx: HttpContext, answer: InferenceAnswer, parts: AnswerParts): Promise<void> =>
  answer.head.contentType.startsWith('text/event-stream')
    ? relayEvents(ctx, answer, parts)
    : sendBody(ctx, answer, parts.bounds)
