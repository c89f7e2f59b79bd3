import type { Plan } from '../../../../domain/routing/plan.ts'
import type { GatewayError } from '../../../../errors.ts'
import type { Logger } from '../../../role.ts'
import type { EdgeBounds } from '../../bounds.ts'
import type { Answer, Inference } from '../../inference.ts'
import { type EdgeContext, type EdgeMiddleware, jsonOf, keyOf } from '../../middleware/context.ts'
import { errorBody } from '../../middleware/errors.ts'
import { clientGoneOf } from '../client-gone.ts'
import { tellFailure, tellRoute } from '../route-headers.ts'
import { sendAnswer } from '../send-answer.ts'
import { demandOf } from './demand.ts'
import { askOf, readChatRequest, withoutRouting } from './request.ts'
import type { ChatCompletionRequest } from './request.types.ts'

export interface ChatParts {
  readonly inference: Inference
  readonly bounds: EdgeBounds
  readonly logger: Logger
}

const errorEvent = (error: GatewayError): Buffer =>
  Buffer.from(`data: ${JSON.stringify(errorBody(error))}\n\ndata: [DONE]\n\n`)

const run = (ctx: EdgeContext, inference: Inference, request: ChatCompletionRequest, plan: Plan): Promise<Answer> =>
  inference
    .run(
      {
        requestId: ctx.state.requestId,
        key: keyOf(ctx),
        surface: 'chat',
        body: withoutRouting(request),
        model: request.model,
        stream: request.stream === true,
        demand: demandOf(request, jsonOf(ctx).bytesLength),
      },
      plan,
      clientGoneOf(ctx.res),
    )
    .catch((fault: unknown) => tellFailure(ctx, plan, fault))

/** POST /v1/chat/completions */
export const completeChat =
  ({ inference, bounds, logger }: ChatParts): EdgeMiddleware =>
  async (ctx) => {
    const request = readChatRequest(jsonOf(ctx).value)
    const plan = inference.plan(askOf(request))
    const answer = await run(ctx, inference, request, plan)
    tellRoute(ctx, plan, answer.head)
    if (answer.outputCap !== null) ctx.set('X-Gateway-Output-Cap', String(answer.outputCap))
    await sendAnswer(ctx, answer, { bounds, logger, errorEvent })
  }
