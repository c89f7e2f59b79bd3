import { type HttpMiddleware, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import { errorBody } from '../../../../http/errors.ts'
import { keepAliveComment, type StreamFormat } from '../inference/send-answer.ts'
import {
  requestedAnswer,
  requestReader,
  routingRequestOf,
  type SurfaceParts,
  serveRequest,
} from '../inference/serve-request.ts'
import type { ChatCompletionRequest } from './request.types.ts'
import { boundChatUsage } from './usage-bounds.ts'

export const readChatRequest = requestReader<ChatCompletionRequest>('requests/chat-completion-request.json')

const streamFormat: StreamFormat = {
  keepAlive: keepAliveComment,
  errorEvent: (error) => Buffer.from(`data: ${JSON.stringify(errorBody(error))}\n\ndata: [DONE]\n\n`),
}

export const completeChat =
  (parts: SurfaceParts): HttpMiddleware =>
  (ctx) => {
    const { value, bytesLength } = jsonOfContext(ctx)
    const request = readChatRequest(value)
    return serveRequest(ctx, parts, {
      surface: 'chat',
      ...requestedAnswer(ctx, request, readChatRequest),
      price: () => ({
        plan: parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)),
        demand: boundChatUsage(request, bytesLength),
      }),
      streamFormat,
    })
  }
