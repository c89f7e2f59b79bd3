import type { InferenceQuestion } from '../inference.ts'
import { callerOfContext, type EdgeContext } from '../middleware/context.ts'
import { clientGoneOf } from './client-gone.ts'
import { sendAnswer } from './send-answer.ts'
import type { SurfaceParts } from './serve-request.ts'
import { keepAliveComment } from './stream-format.ts'

const neverStreamed = {
  keepAlive: keepAliveComment,
  errorEvent: (): never => {
    throw new Error('a question is answered whole')
  },
}

export const serveQuestion = async (
  ctx: EdgeContext,
  { inference, bounds, faults }: SurfaceParts,
  asked: Omit<InferenceQuestion, 'requestId' | 'key'>,
): Promise<void> => {
  const answer = await inference.ask({ ...callerOfContext(ctx), ...asked }, clientGoneOf(ctx.res))
  await sendAnswer(ctx, answer, { bounds, faults, voice: neverStreamed })
}
