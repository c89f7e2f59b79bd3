import { type EdgeMiddleware, jsonOfContext, keyOfContext } from '../../middleware/context.ts'
import { serveQuestion } from '../ask-question.ts'
import { routingRequestOf } from '../request.ts'
import { type SurfaceParts, serveRequest } from '../serve-request.ts'
import { countedBody, readCountRequest, readMessagesRequest } from './request.ts'
import { messagesStreamFormat } from './stream-format.ts'
import { boundMessagesUsage } from './usage-bounds.ts'
import { headersToForward } from './version.ts'

/** POST /v1/messages */
export const createMessage =
  (parts: SurfaceParts): EdgeMiddleware =>
  async (ctx) => {
    const { value, bytesLength } = jsonOfContext(ctx)
    const request = readMessagesRequest(value)
    await serveRequest(ctx, parts, {
      surface: 'messages',
      request,
      plan: parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)),
      demand: boundMessagesUsage(request, bytesLength),
      headers: headersToForward(ctx.req.headers),
      voice: messagesStreamFormat(ctx.state.requestId),
    })
  }

/** POST /v1/messages/count_tokens: forwarded to the first candidate. */
export const serveTokenCount =
  (parts: SurfaceParts): EdgeMiddleware =>
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
