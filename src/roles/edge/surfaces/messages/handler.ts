import { isObject, type JsonObject } from '../../../../encoding/json.ts'
import { type HttpMiddleware, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import { messagesErrorBody } from '../../../../http/errors.ts'
import { refuseThread } from '../../../../providers/anthropic/references.ts'
import { serveQuestion } from '../inference/ask-question.ts'
import { requestReader, routingRequestOf, withoutRouting } from '../inference/request.ts'
import { type SurfaceParts, serveRequest } from '../inference/serve-request.ts'
import type { StreamFormat } from '../streaming/stream-format.ts'
import type { MessagesRequest } from './request.types.ts'
import { boundMessagesUsage } from './usage-bounds.ts'
import { headersToForward } from './version.ts'

const ping = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

const messagesStreamFormat = (requestId: string): StreamFormat => ({
  keepAlive: ping,
  errorEvent: (error) => Buffer.from(`event: error\ndata: ${JSON.stringify(messagesErrorBody(error, requestId))}\n\n`),
})

const read = requestReader<MessagesRequest>('requests/messages-request.v1.json')

/** A thread is refused here, since no model of the surface supports one. */
export const readMessagesRequest = (value: unknown): MessagesRequest => {
  const request = read(value)
  refuseThread(request)
  return request
}

/** A request to count tokens has no `max_tokens`. */
const readCountRequest = (value: unknown): MessagesRequest =>
  readMessagesRequest(isObject(value) ? { ...value, max_tokens: 1 } : value)

export const countedBody = (request: MessagesRequest): JsonObject => {
  const { max_tokens: _ofAnswer, stream: _howAnswered, ...body } = withoutRouting(request)
  return body
}

export const createMessage =
  (parts: SurfaceParts): HttpMiddleware =>
  async (ctx) => {
    const { value, bytesLength } = jsonOfContext(ctx)
    const request = readMessagesRequest(value)
    await serveRequest(ctx, parts, {
      surface: 'messages',
      request,
      plan: parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)),
      demand: boundMessagesUsage(request, bytesLength),
      headers: headersToForward(ctx.req.headers),
      streamFormat: messagesStreamFormat(ctx.state.requestId),
    })
  }

/** Forwarded to the first candidate. */
export const serveTokenCount =
  (parts: SurfaceParts): HttpMiddleware =>
  async (ctx) => {
    const request = readCountRequest(jsonOfContext(ctx).value)
    const [candidate] = parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)).candidates
    if (candidate === undefined) throw new Error('a plan has a candidate')
    await serveQuestion(ctx, parts, {
      surface: 'messages',
      body: countedBody(request),
      question: { type: 'count_tokens' },
      candidate,
      headers: headersToForward(ctx.req.headers),
    })
  }
