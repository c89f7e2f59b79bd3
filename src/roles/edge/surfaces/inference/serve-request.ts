import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import type { RoutePlan, RoutingRequest, Surface } from '../../../../domain/routing/plan.ts'
import { asObject, type JsonObject, WideInteger } from '../../../../encoding/json.ts'
import { getValidator } from '../../../../encoding/schema-validation.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import {
  callerOfContext,
  type HttpContext,
  type HttpState,
  jsonOfContext,
  keyOfContext,
} from '../../../../http/context.ts'
import type { FaultReporter } from '../../../../http/errors.ts'
import { readValid } from '../../../../http/validate.ts'
import { Collectable } from '../../../../runtime/collectable.ts'
import type { FairShares } from '../../../../runtime/fair-shares.ts'
import { runWhereLarge } from '../../../../runtime/large-steps.ts'
import type { FailedCandidate, JsonRecord, RoutedRequest } from '../../../dispatch.ts'
import type { KeyLease, RequestOutcome } from '../../admission/idempotency/key-lease.ts'
import { surfaceLimits } from '../limits.ts'
import { captureResponse, captureStream } from './capture-answer.ts'
import type { Inference, InferenceQuestion, InferenceRequest } from './inference.ts'
import { clientGoneOf, keepAliveComment, type StreamBounds, type StreamFormat, sendAnswer } from './send-answer.ts'
import { headersToStore, type IdempotentParts, serveIdempotent } from './serve-idempotent.ts'

interface SurfaceRequest {
  readonly model: string
  readonly stream?: boolean | null
  readonly extra_body?: { readonly models?: readonly string[]; readonly [member: string]: unknown }
  readonly models?: readonly string[]
  readonly route?: string
  readonly [member: string]: unknown
}

const routingMember = /^(?:models|route)\b/

/** The official Python SDKs move the members of `extra_body` to the top level; their callers wrote `extra_body`. */
const paramOf = (path: string): string => (routingMember.test(path) ? `extra_body.${path}` : path)

/** Members that are numbers by the schema, as numbers: rounded where they are too wide. */
const roundMembers = (schemaId: string, value: JsonObject): JsonObject => {
  const wide = getValidator(schemaId, { allErrors: true })(value).flatMap(({ path }) => {
    const member = value[path]
    return member instanceof WideInteger ? [[path, member.rounded] as const] : []
  })
  return { ...value, ...Object.fromEntries(wide) }
}

const roundAll = (value: JsonObject): JsonRecord =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, member instanceof WideInteger ? member.rounded : member]),
  )

const tooManyMembers = (): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The request has more than ${surfaceLimits.requestMembersMax} members of its own, beside those of its messages and tools.`,
  )

/** The reader throws `missing_required_parameter` or `invalid_value` with the path of what is wrong, or `request_too_large`. */
export const requestReader =
  <Request extends SurfaceRequest>(schemaId: string): ((value: unknown) => Request) =>
  (value) => {
    const body = asObject(value)
    const members = Object.values(body)
    if (members.length > surfaceLimits.requestMembersMax) throw tooManyMembers()
    if (!members.some((member) => member instanceof WideInteger)) return readValid<Request>(schemaId, value, paramOf)
    readValid<Request>(schemaId, roundAll(body), paramOf) // Its class would pass for an object.
    const request = readValid<Request>(schemaId, roundMembers(schemaId, body), paramOf)
    const { seed } = body
    // The gateway reads no seed, which may be any integer of 64 bits.
    return seed instanceof WideInteger ? { ...request, seed } : request
  }

/** A chain replaces the model; that of `extra_body` overrides that of the top level. `route` alone has no effect. */
export const routingRequestOf = ({ model, models, extra_body }: SurfaceRequest): RoutingRequest => ({
  model,
  chain: extra_body?.models ?? models ?? null,
})

export const withoutRouting = (request: SurfaceRequest): JsonRecord => {
  const { extra_body, models, route, ...body } = request
  return extra_body === undefined && models === undefined && route === undefined ? request : body
}

const droppedToolsCharactersMax = 1_000

/** A header holds printable ASCII; a model's name may hold anything. */
const headerText = (name: string): string => name.toWellFormed().replace(/[^\x20-\x7e]+/gu, encodeURIComponent)

/** Reports which model of the plan served: the level where a chain was named, the resolved model where a router led to it. */
const setRouteHeaders = (ctx: HttpContext, plan: RoutePlan, { level, model }: FailedCandidate): void => {
  const served = plan.candidates.find((candidate) => candidate.level === level && candidate.model === model)
  ctx.state.trace.server = { model, provider: served?.provider, level }
  if (plan.chain) ctx.set('X-Gateway-Fallback-Level', String(level))
  if (plan.chain && level > 0) ctx.set('X-Gateway-Fallback-Model', headerText(model))
  if (served?.router === undefined) return
  ctx.set('X-Gateway-Router', served.router)
  ctx.set('X-Gateway-Resolved-Model', headerText(model))
}

const setFailureHeaders = (ctx: HttpContext, plan: RoutePlan, fault: unknown): never => {
  if (fault instanceof GatewayError && fault.failedAt !== undefined) setRouteHeaders(ctx, plan, fault.failedAt)
  throw fault
}

export interface SurfaceParts extends IdempotentParts {
  readonly inference: Inference
  readonly bounds: StreamBounds
  readonly faults: FaultReporter
  /** Bytes of streams that are kept for repeats. */
  readonly captured: FairShares
}

/** Tags are for the gateway alone; a provider may refuse, or keep, what it does not know. */
const withoutTags = (body: JsonRecord, { tags = {} }: NonNullable<HttpState['attribution']>): JsonRecord => {
  const metadata = Object.entries(asObject(body['metadata']))
  const others = metadata.filter(([name]) => !Object.hasOwn(tags, name))
  if (others.length === metadata.length) return body
  const { metadata: _metadata, ...rest } = body
  return others.length === 0 ? rest : { ...rest, metadata: Object.fromEntries(others) }
}

const forwardedBody = ({ state }: HttpContext, request: SurfaceRequest): JsonRecord =>
  withoutTags(withoutRouting(request), state.attribution ?? {})

interface RequestedAnswer {
  readonly model: string
  readonly stream: boolean
  readonly body: Collectable<JsonRecord>
}

export const requestedAnswer = <Request extends SurfaceRequest>(
  ctx: HttpContext,
  request: Request,
  read: (value: unknown) => Request,
): RequestedAnswer => ({
  model: request.model,
  stream: request.stream === true,
  body: new Collectable(() => forwardedInSteps(ctx, read), jsonOfContext(ctx).bytesLength, forwardedBody(ctx, request)),
})

function* forwardedInSteps<Request extends SurfaceRequest>(
  ctx: HttpContext,
  read: (value: unknown) => Request,
): Generator<void, JsonRecord> {
  const json = jsonOfContext(ctx)
  const value = json instanceof Collectable ? yield* json.steps() : json.value
  yield
  return forwardedBody(ctx, read(value))
}

interface PricedPlan {
  readonly plan: RoutePlan
  readonly demand: UsageBounds
}

interface PlannedRequest extends RequestedAnswer {
  readonly surface: Surface
  /** Throws where no model can serve it. What was answered before is sent again all the same. */
  readonly price: () => PricedPlan
  readonly headers?: RoutedRequest['headers'] | undefined
  readonly streamFormat: StreamFormat
  readonly reshape?: InferenceRequest['reshape']
  /** What an idempotency key belongs to, where that is not the path. */
  readonly endpoint?: string
}

interface Reader {
  readonly clientGone: AbortSignal
  readonly capture?: InferenceRequest['capture']
}

/** A stored answer is sent to repeats of the request: a whole one is read to its end, even if its client has left. */
const readerOf = (ctx: HttpContext, parts: SurfaceParts, held: KeyLease | null, stream: boolean): Reader => {
  if (held === null) return { clientGone: clientGoneOf(ctx.res) }
  const headersOf = (contentType: string): RequestOutcome['headers'] => headersToStore(ctx, contentType)
  const capture = { held, headersOf, workspaceId: keyOfContext(ctx).workspaceId }
  if (stream)
    return {
      clientGone: AbortSignal.any([clientGoneOf(ctx.res), held.lost]),
      capture: (answer) => captureStream(answer, capture, parts),
    }
  return { clientGone: held.lost, capture: (answer) => captureResponse(answer, capture) }
}

const tryPrice = (price: PlannedRequest['price']): PricedPlan | GatewayError => {
  try {
    return price()
  } catch (fault) {
    if (fault instanceof GatewayError) return fault
    throw fault
  }
}

/** Not async: a suspended call would hold its arguments, and with them the parsed body. */
export const serveRequest = (
  ctx: HttpContext,
  parts: SurfaceParts,
  { price, ...planned }: PlannedRequest,
): Promise<void> => {
  const { workspaceId } = keyOfContext(ctx)
  const priced = runWhereLarge({ workspaceId, bytes: jsonOfContext(ctx).bytesLength }, () => tryPrice(price))
  return priced instanceof Promise
    ? priced.then((found) => servePriced(ctx, parts, planned, found))
    : servePriced(ctx, parts, planned, priced)
}

const servePriced = (
  ctx: HttpContext,
  parts: SurfaceParts,
  planned: Omit<PlannedRequest, 'price'>,
  priced: PricedPlan | GatewayError,
): Promise<void> => {
  const { surface, stream } = planned
  const { attribution } = ctx.state
  const key = keyOfContext(ctx)
  const work = { type: 'request', keyId: key.keyId, surface, stream } as const
  const findShortage = (): GatewayError | null => {
    if (priced instanceof GatewayError) return priced
    return parts.inference.findShortage(priced.plan, { demand: priced.demand, key, attribution })
  }
  const run = (held: KeyLease | null): Promise<void> => {
    if (priced instanceof GatewayError) throw priced
    return runAndSend(ctx, parts, { ...planned, ...priced }, readerOf(ctx, parts, held, stream))
  }
  const settled = () => parts.inference.deliveries.waitUntilSettled(ctx.state.requestId)
  return serveIdempotent(ctx, parts, { work, endpoint: planned.endpoint, settled }, run, findShortage)
}

const runAndSend = async (
  ctx: HttpContext,
  parts: SurfaceParts,
  planned: Omit<PlannedRequest, 'price'> & PricedPlan,
  { clientGone, capture }: Reader,
): Promise<void> => {
  const { surface, model, stream, body, demand, headers, streamFormat, reshape } = planned
  const { requestId, rates, attribution } = ctx.state
  const plan = rates === undefined ? planned.plan : await rates.admit(planned.plan, demand)
  const answer = await parts.inference
    .run(
      {
        requestId,
        key: keyOfContext(ctx),
        surface,
        body,
        bodyBytes: jsonOfContext(ctx).bytesLength,
        model,
        stream,
        demand,
        attribution,
        headers,
        reshape,
        capture,
        trace: ctx.state.trace,
      },
      plan,
      clientGone,
    )
    .catch((fault: unknown) => setFailureHeaders(ctx, plan, fault))
  setRouteHeaders(ctx, plan, answer.head)
  const { droppedTools } = answer.head
  if (droppedTools !== undefined)
    ctx.set('X-Gateway-Dropped-Tools', headerText(droppedTools.join(', ')).slice(0, droppedToolsCharactersMax))
  if (answer.outputCap !== null) ctx.set('X-Gateway-Output-Cap', String(answer.outputCap))
  await sendAnswer(ctx, answer, { bounds: parts.bounds, faults: parts.faults, streamFormat })
}

export const neverStreamed: StreamFormat = {
  keepAlive: keepAliveComment,
  errorEvent: (): never => {
    throw new Error('it is answered whole')
  },
}

export const serveQuestion = async (
  ctx: HttpContext,
  { inference, bounds, faults }: SurfaceParts,
  query: Omit<InferenceQuestion, 'requestId' | 'key' | 'trace'>,
): Promise<void> => {
  const { trace } = ctx.state
  trace.isAsked = true
  const answer = await inference.query({ ...callerOfContext(ctx), ...query, trace }, clientGoneOf(ctx.res))
  await sendAnswer(ctx, answer, { bounds, faults, streamFormat: neverStreamed })
}
