import { type EdgeMiddleware, jsonOf, keyOf } from '../../middleware/context.ts'
import { askQuestion } from '../ask-question.ts'
import { askOf } from '../request.ts'
import { type SurfaceParts, serveRequest } from '../serve-request.ts'
import { demandOf } from './demand.ts'
import { countedBody, readCountRequest, readMessagesRequest } from './request.ts'
import { headersToForward } from './version.ts'
import { messagesVoice } from './voice.ts'

/** POST /v1/messages */
export const createMessage =
  (parts: SurfaceParts): EdgeMiddleware =>
  async (ctx) => {
    const { value, bytesLength } = jsonOf(ctx)
    const request = readMessagesRequest(value)
    await serveRequest(ctx, parts, {
      surface: 'messages',
      request,
      plan: parts.inference.plan(askOf(request), keyOf(ctx)),
      demand: demandOf(request, bytesLength),
      headers: headersToForward(ctx.req.headers),
      voice: messagesVoice(ctx.state.requestId),
    })
  }

/** POST /v1/messages/count_tokens: asked of the first candidate. */
export const countTokens =
  (parts: SurfaceParts): EdgeMiddleware =>
  async (ctx) => {
    const request = readCountRequest(jsonOf(ctx).value)
    const [candidate] = parts.inference.plan(askOf(request), keyOf(ctx)).candidates
    if (candidate === undefined) throw new Error('a plan has a candidate')
    await askQuestion(ctx, parts, {
      surface: 'messages',
      body: countedBody(request),
      question: { type: 'count_tokens' },
      candidate,
      headers: headersToForward(ctx.req.headers),
    })
  }
