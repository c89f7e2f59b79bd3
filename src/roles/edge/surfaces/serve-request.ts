import type { Demand } from '../../../domain/pricing/worst-case.ts'
import type { Plan } from '../../../domain/routing/plan.ts'
import type { RoutedCall, Surface } from '../../role.ts'
import type { EdgeBounds } from '../bounds.ts'
import type { HeldKey } from '../idempotency/held-key.ts'
import { keptStream, keptWhole } from '../idempotency/keeping.ts'
import { idempotencyKeyIn } from '../idempotency/key-header.ts'
import type { Inference, InferenceRequest } from '../inference.ts'
import { type EdgeContext, keyOf } from '../middleware/context.ts'
import type { FaultTeller } from '../middleware/errors.ts'
import { clientGoneOf } from './client-gone.ts'
import { type SurfaceRequest, withoutRouting } from './request.ts'
import { tellFailure, tellRoute } from './route-headers.ts'
import { sendAnswer } from './send-answer.ts'
import { headersToKeep, type OnceParts, serveOnce } from './serve-once.ts'
import type { Voice } from './voice.ts'

export interface SurfaceParts extends OnceParts {
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

/** Who reads an answer, and what stands before. */
interface Reader {
  readonly clientGone: AbortSignal
  readonly keeping?: InferenceRequest['keeping']
}

/** What is kept is answered to whoever repeats the request: it is read to its end, its client there or not. */
const keepingReader = (ctx: EdgeContext, { logger }: SurfaceParts, held: HeldKey, stream: boolean): Reader => {
  if (stream)
    return {
      clientGone: AbortSignal.any([clientGoneOf(ctx.res), held.lost]),
      keeping: (answer) => keptStream(answer, held, logger),
    }
  const keep = (contentType: string, body: Uint8Array): Promise<void> =>
    held.keep({ status: 200, headers: headersToKeep(ctx, contentType), body })
  return { clientGone: held.lost, keeping: (answer) => keptWhole(answer, held, keep) }
}

/** Runs a request, once where it names an idempotency key, and sends its answer, with the headers that tell how it was routed. */
export const serveRequest = async (ctx: EdgeContext, parts: SurfaceParts, planned: PlannedRequest): Promise<void> => {
  const key = idempotencyKeyIn(ctx.req.headers)
  if (key === null) return runAndSend(ctx, parts, planned, { clientGone: clientGoneOf(ctx.res) })
  const { surface } = planned
  const stream = planned.request.stream === true
  const work = { type: 'request', keyId: keyOf(ctx).keyId, surface, stream } as const
  await serveOnce(ctx, parts, { key, work }, (held) =>
    runAndSend(ctx, parts, planned, keepingReader(ctx, parts, held, stream)),
  )
}

const runAndSend = async (
  ctx: EdgeContext,
  parts: SurfaceParts,
  planned: PlannedRequest,
  { clientGone, keeping }: Reader,
): Promise<void> => {
  const { surface, request, demand, headers, voice } = planned
  const { model, stream } = request
  const { requestId, rates } = ctx.state
  const plan = rates === undefined ? planned.plan : await rates.admit(planned.plan, demand)
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
        keeping,
        trace: ctx.state.trace,
      },
      plan,
      clientGone,
    )
    .catch((fault: unknown) => tellFailure(ctx, plan, fault))
  tellRoute(ctx, plan, answer.head)
  if (answer.outputCap !== null) ctx.set('X-Gateway-Output-Cap', String(answer.outputCap))
  await sendAnswer(ctx, answer, { bounds: parts.bounds, faults: parts.faults, voice })
}
