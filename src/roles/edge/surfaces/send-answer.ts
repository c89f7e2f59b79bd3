import type { EdgeBounds } from '../bounds.ts'
import type { InferenceAnswer } from '../inference.ts'
import type { EdgeContext } from '../middleware/context.ts'
import type { FaultReporter } from '../middleware/errors.ts'
import { EventStream } from './event-stream.ts'
import { endResponse, waitForDrain } from './response-writer.ts'
import type { StreamFormat } from './stream-format.ts'

export interface AnswerParts {
  readonly bounds: EdgeBounds
  readonly faults: FaultReporter
  readonly voice: StreamFormat
}

const empty = (): Error => new Error('an answer has bytes')

const relayEvents = async (ctx: EdgeContext, { head, bytes }: InferenceAnswer, parts: AnswerParts): Promise<void> => {
  const stream = new EventStream(ctx.res, head.contentType, parts.bounds, parts.voice)
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

/** A body that came in pieces. */
const relayPieces = async (
  ctx: EdgeContext,
  pieces: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
  { clientStallMs }: EdgeBounds,
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

const sendWhole = (ctx: EdgeContext, body: Uint8Array, { clientStallMs }: EdgeBounds): void => {
  ctx.res.setTimeout(clientStallMs)
  ctx.status = 200
  ctx.body = asBuffer(body)
}

const sendBody = async (ctx: EdgeContext, { head, bytes }: InferenceAnswer, bounds: EdgeBounds): Promise<void> => {
  const rest = bytes[Symbol.asyncIterator]()
  const first = await rest.next()
  if (first.done === true) throw empty()
  const second = await rest.next()
  ctx.set('Content-Type', head.contentType)
  if (second.done === true) sendWhole(ctx, first.value, bounds)
  else await relayPieces(ctx, [first.value, second.value], { [Symbol.asyncIterator]: () => rest }, bounds)
}

/**
 * Sends an answer as it comes: a body with its length where it came whole, a stream event by event at the client's pace.
 * Throws what broke the answer off as long as nothing was sent; a stream says it in its own words afterwards.
 */
export const sendAnswer = (ctx: EdgeContext, answer: InferenceAnswer, parts: AnswerParts): Promise<void> =>
  answer.head.contentType.startsWith('text/event-stream')
    ? relayEvents(ctx, answer, parts)
    : sendBody(ctx, answer, parts.bounds)
