import { type EdgeMiddleware, jsonOf, keyOf } from '../../middleware/context.ts'
import { errorBody } from '../../middleware/errors.ts'
import { askOf } from '../request.ts'
import { type SurfaceParts, serveRequest } from '../serve-request.ts'
import { keepAliveComment, type Voice } from '../voice.ts'
import { demandOf } from './demand.ts'
import { readChatRequest } from './request.ts'

const voice: Voice = {
  keepAlive: keepAliveComment,
  errorEvent: (error) => Buffer.from(`data: ${JSON.stringify(errorBody(error))}\n\ndata: [DONE]\n\n`),
}

/** POST /v1/chat/completions */
export const completeChat =
  (parts: SurfaceParts): EdgeMiddleware =>
  async (ctx) => {
    const { value, bytesLength } = jsonOf(ctx)
    const request = readChatRequest(value)
    const plan = parts.inference.plan(askOf(request), keyOf(ctx))
    await serveRequest(ctx, parts, { surface: 'chat', request, plan, demand: demandOf(request, bytesLength), voice })
  }
