import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import type { RoutePlan } from '../../../../domain/routing/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { type HttpContext, keyOfContext } from '../../../../http/context.ts'
import type { FaultReporter } from '../../../../http/errors.ts'
import type { RoutedRequest, Surface } from '../../../dispatch.ts'
import { readIdempotencyKey } from '../../admission/idempotency/key-header.ts'
import type { KeyLease } from '../../admission/idempotency/key-lease.ts'
import { captureResponse, captureStream } from '../idempotency/capture-response.ts'
import { headersToStore, type IdempotentParts, serveIdempotent } from '../idempotency/serve-idempotent.ts'
import { clientGoneOf } from '../streaming/client-gone.ts'
import type { StreamBounds } from '../streaming/event-stream.ts'
import type { StreamFormat } from '../streaming/stream-format.ts'
import type { Inference, InferenceRequest } from './inference.ts'
import { type SurfaceRequest, withoutRouting } from './request.ts'
import { sendAnswer } from './send-answer.ts'

/** A header holds printable ASCII; a model's name may hold anything. */
const headerText = (name: string): string => name.toWellFormed().replace(/[^\x20-\x7e]+/gu, encodeURIComponent)

interface Served {
  readonly level: number
  readonly model: string
}

const setChainHeaders = (ctx: HttpContext, { level, model }: Served): void => {
  ctx.set('X-Gateway-Fallback-Level', String(level))
  if (level > 0) ctx.set('X-Gateway-Fallback-Model', headerText(model))
}

/** Reports which model of the plan served: the level where a chain was named, the resolved model where a router was. */
const setRouteHeaders = (ctx: HttpContext, plan: RoutePlan, served: Served): void => {
  const { model, level } = served
  const provider = plan.candidates.find((candidate) => candidate.level === level)?.provider
  ctx.state.trace.server = { model, provider, level }
  if (plan.chain) setChainHeaders(ctx, served)
  if (plan.router === null) return
  ctx.set('X-Gateway-Router', plan.router)
  ctx.set('X-Gateway-Resolved-Model', headerText(model))
}

/** Reports the last model that was tried, where the fault has one, and rethrows the fault. */
const setFailureHeaders = (ctx: HttpContext, plan: RoutePlan, fault: unknown): never => {
  if (fault instanceof GatewayError && fault.failedAt !== undefined) setRouteHeaders(ctx, plan, fault.failedAt)
  throw fault
}

export interface SurfaceParts extends IdempotentParts {
  readonly inference: Inference
  readonly bounds: StreamBounds
  readonly faults: FaultReporter
}

interface PlannedRequest {
  readonly surface: Surface
  readonly request: SurfaceRequest
  readonly plan: RoutePlan
  readonly demand: UsageBounds
  readonly headers?: RoutedRequest['headers'] | undefined
  readonly streamFormat: StreamFormat
}

interface Reader {
  readonly clientGone: AbortSignal
  readonly capture?: InferenceRequest['capture']
}

/** A stored answer is sent to repeats of the request: it is read to its end, even if its client has left. */
const capturingReader = (ctx: HttpContext, { logger }: SurfaceParts, held: KeyLease, stream: boolean): Reader => {
  if (stream)
    return {
      clientGone: AbortSignal.any([clientGoneOf(ctx.res), held.lost]),
      capture: (answer) => captureStream(answer, held, logger),
    }
  const keep = (contentType: string, body: Uint8Array): Promise<void> =>
    held.store({ status: 200, headers: headersToStore(ctx, contentType), body })
  return { clientGone: held.lost, capture: (answer) => captureResponse(answer, held, keep) }
}

/** Runs a request, once per idempotency key. */
export const serveRequest = async (ctx: HttpContext, parts: SurfaceParts, planned: PlannedRequest): Promise<void> => {
  const key = readIdempotencyKey(ctx.req.headers)
  if (key === null) return runAndSend(ctx, parts, planned, { clientGone: clientGoneOf(ctx.res) })
  const { surface } = planned
  const stream = planned.request.stream === true
  const work = { type: 'request', keyId: keyOfContext(ctx).keyId, surface, stream } as const
  await serveIdempotent(ctx, parts, { key, work }, (held) =>
    runAndSend(ctx, parts, planned, capturingReader(ctx, parts, held, stream)),
  )
}

const runAndSend = async (
  ctx: HttpContext,
  parts: SurfaceParts,
  planned: PlannedRequest,
  { clientGone, capture }: Reader,
): Promise<void> => {
  const { surface, request, demand, headers, streamFormat } = planned
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
        capture: capture,
        trace: ctx.state.trace,
      },
      plan,
      clientGone,
    )
    .catch((fault: unknown) => setFailureHeaders(ctx, plan, fault))
  setRouteHeaders(ctx, plan, answer.head)
  if (answer.outputCap !== null) ctx.set('X-Gateway-Output-Cap', String(answer.outputCap))
  await sendAnswer(ctx, answer, { bounds: parts.bounds, faults: parts.faults, streamFormat: streamFormat })
}
