import { type EdgeMiddleware, jsonOfContext, keyOfContext } from '../../middleware/context.ts'
import { errorBody } from '../../middleware/errors.ts'
import { routingRequestOf } from '../request.ts'
import { type SurfaceParts, serveRequest } from '../serve-request.ts'
import { keepAliveComment, type StreamFormat } from '../stream-format.ts'
import { readChatRequest } from './request.ts'
import { boundChatUsage } from './usage-bounds.ts'

const voice: StreamFormat = {
  keepAlive: keepAliveComment,
  errorEvent: (error) => Buffer.from(`data: ${JSON.stringify(errorBody(error))}\n\ndata: [DONE]\n\n`),
}

/** POST /v1/chat/completions */
export const completeChat =
  (parts: SurfaceParts): EdgeMiddleware =>
  async (ctx) => {
    const { value, bytesLength } = jsonOfContext(ctx)
    const request = readChatRequest(value)
    const plan = parts.inference.plan(routingRequestOf(request), keyOfContext(ctx))
    await serveRequest(ctx, parts, {
      surface: 'chat',
      request,
      plan,
      demand: boundChatUsage(request, bytesLength),
      voice,
    })
  }
