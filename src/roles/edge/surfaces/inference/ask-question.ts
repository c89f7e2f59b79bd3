import { callerOfContext, type HttpContext } from '../../../../http/context.ts'
import { clientGoneOf } from '../streaming/client-gone.ts'
import { keepAliveComment } from '../streaming/stream-format.ts'
import type { InferenceQuestion } from './inference.ts'
import { sendAnswer } from './send-answer.ts'
import type { SurfaceParts } from './serve-request.ts'

const neverStreamed = {
  keepAlive: keepAliveComment,
  errorEvent: (): never => {
    throw new Error('a question is answered whole')
  },
}

export const serveQuestion = async (
  ctx: HttpContext,
  { inference, bounds, faults }: SurfaceParts,
  asked: Omit<InferenceQuestion, 'requestId' | 'key'>,
): Promise<void> => {
  const answer = await inference.ask({ ...callerOfContext(ctx), ...asked }, clientGoneOf(ctx.res))
  await sendAnswer(ctx, answer, { bounds, faults, streamFormat: neverStreamed })
}
