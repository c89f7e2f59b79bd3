import type { UsageBounds } from '../../../domain/pricing/worst-case.ts'
import type { Plan } from '../../../domain/routing/plan.ts'
import type { RoutedRequest, Surface } from '../../dispatch.ts'
import type { EdgeBounds } from '../bounds.ts'
import { captureResponse, captureStream } from '../idempotency/capture-response.ts'
import { readIdempotencyKey } from '../idempotency/key-header.ts'
import type { KeyLease } from '../idempotency/key-lease.ts'
import type { Inference, InferenceRequest } from '../inference.ts'
import { type EdgeContext, keyOfContext } from '../middleware/context.ts'
import type { FaultReporter } from '../middleware/errors.ts'
import { clientGoneOf } from './client-gone.ts'
import { type SurfaceRequest, withoutRouting } from './request.ts'
import { setFailureHeaders, setRouteHeaders } from './route-headers.ts'
import { sendAnswer } from './send-answer.ts'
import { headersToStore, type IdempotentParts, serveIdempotent } from './serve-idempotent.ts'
import type { StreamFormat } from './stream-format.ts'

export interface SurfaceParts extends IdempotentParts {
  readonly inference: Inference
  readonly bounds: EdgeBounds
  readonly faults: FaultReporter
}

export interface PlannedRequest {
  readonly surface: Surface
  readonly request: SurfaceRequest
  readonly plan: Plan
  readonly demand: UsageBounds
  readonly headers?: RoutedRequest['headers'] | undefined
  readonly voice: StreamFormat
}

interface Reader {
  readonly clientGone: AbortSignal
  readonly keeping?: InferenceRequest['keeping']
}

/** A stored answer is sent to repeats of the request: it is read to its end, even if its client has left. */
const keepingReader = (ctx: EdgeContext, { logger }: SurfaceParts, held: KeyLease, stream: boolean): Reader => {
  if (stream)
    return {
      clientGone: AbortSignal.any([clientGoneOf(ctx.res), held.lost]),
      keeping: (answer) => captureStream(answer, held, logger),
    }
  const keep = (contentType: string, body: Uint8Array): Promise<void> =>
    held.store({ status: 200, headers: headersToStore(ctx, contentType), body })
  return { clientGone: held.lost, keeping: (answer) => captureResponse(answer, held, keep) }
}

/** Runs a request, once per idempotency key. */
export const serveRequest = async (ctx: EdgeContext, parts: SurfaceParts, planned: PlannedRequest): Promise<void> => {
  const key = readIdempotencyKey(ctx.req.headers)
  if (key === null) return runAndSend(ctx, parts, planned, { clientGone: clientGoneOf(ctx.res) })
  const { surface } = planned
  const stream = planned.request.stream === true
  const work = { type: 'request', keyId: keyOfContext(ctx).keyId, surface, stream } as const
  await serveIdempotent(ctx, parts, { key, work }, (held) =>
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
        key: keyOfContext(ctx),
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
    .catch((fault: unknown) => setFailureHeaders(ctx, plan, fault))
  setRouteHeaders(ctx, plan, answer.head)
  if (answer.outputCap !== null) ctx.set('X-Gateway-Output-Cap', String(answer.outputCap))
  await sendAnswer(ctx, answer, { bounds: parts.bounds, faults: parts.faults, voice })
}
