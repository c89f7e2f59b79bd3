import type { Demand } from '../../../domain/pricing/worst-case.ts'
import type { Plan } from '../../../domain/routing/plan.ts'
import type { RoutedCall, Surface } from '../../role.ts'
import type { EdgeBounds } from '../bounds.ts'
import type { Inference } from '../inference.ts'
import { type EdgeContext, keyOf } from '../middleware/context.ts'
import type { FaultTeller } from '../middleware/errors.ts'
import { clientGoneOf } from './client-gone.ts'
import { type SurfaceRequest, withoutRouting } from './request.ts'
import { tellFailure, tellRoute } from './route-headers.ts'
import { sendAnswer } from './send-answer.ts'
import type { Voice } from './voice.ts'

export interface SurfaceParts {
  readonly inference: Inference
  readonly bounds: EdgeBounds
  readonly faults: FaultTeller
}

/** A request of one surface, read and planned. */
export interface PlannedRequest {
  readonly surface: Surface
  readonly request: SurfaceRequest
  readonly plan: Plan
  readonly demand: Demand
  readonly headers?: RoutedCall['headers'] | undefined
  readonly voice: Voice
}

/** Runs a request and sends its answer, with the headers that tell how it was routed. */
export const serveRequest = async (ctx: EdgeContext, parts: SurfaceParts, planned: PlannedRequest): Promise<void> => {
  const { surface, request, plan, demand, headers, voice } = planned
  const { model, stream } = request
  const { requestId } = ctx.state
  const answer = await parts.inference
    .run(
      {
        requestId,
        key: keyOf(ctx),
        surface,
        body: withoutRouting(request),
        model,
        stream: stream === true,
        demand,
        headers,
        trace: ctx.state.trace,
      },
      plan,
      clientGoneOf(ctx.res),
    )
    .catch((fault: unknown) => tellFailure(ctx, plan, fault))
  tellRoute(ctx, plan, answer.head)
  if (answer.outputCap !== null) ctx.set('X-Gateway-Output-Cap', String(answer.outputCap))
  await sendAnswer(ctx, answer, { bounds: parts.bounds, faults: parts.faults, voice })
}
