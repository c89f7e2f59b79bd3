import type { Applied } from '../../../domain/ledger/ledger.ts'
import type { HttpContext, HttpMiddleware } from '../../../http/context.ts'
import type { LedgerTail } from '../../../log/ledger-tail.ts'
import { withoutKeys } from '../../../providers/dialect/scrub.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { ObservedStatus, ObservedSurface, Observer, Reading } from '../../../runtime/observer.ts'
import { TransientMap } from '../../../runtime/transient-map.ts'
import { listenerLimits } from './limits.ts'
import { originalRequestHeader } from './middleware.ts'
import { Refusals } from './refusals.ts'

type RequestWatchParts = ConstructorParameters<typeof Refusals>[0] & {
  readonly tail: Pick<LedgerTail, 'onApplied'>
  readonly observer: Observer
  readonly logger: Logger
  /** Whether each request has a line in our own log. */
  readonly requestLines: boolean
}

/** Left there by the router, where a route matches. */
type RoutedContext = HttpContext & { readonly _matchedRoute?: string | RegExp }

const surfacesByStart: readonly (readonly [string, ObservedSurface])[] = [
  ['/v1/chat/', 'chat'],
  ['/v1/messages', 'messages'],
  ['/v1/responses', 'responses'],
  ['/v1beta/', 'gemini'],
  ['/v1/embeddings', 'embeddings'],
  ['/v1/video', 'video'],
  ['/vv/', 'native-video'],
  ['/v1/models/*model', 'gemini'],
  ['/v1/models', 'models'],
  ['/v1/dashboard/', 'dashboard'],
  ['/dashboard/', 'dashboard'],
  ['/v1/ledger/', 'ledger'],
  ['/healthz', 'health'],
  ['/readyz', 'health'],
]

/** Of what is routed to models, and charged. */
const routedSurfaces: ReadonlySet<ObservedSurface> = new Set([
  ...(['chat', 'messages', 'responses', 'gemini', 'embeddings', 'video', 'native-video'] as const),
])

const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

const surfaceOf = (route: string | null): ObservedSurface => {
  if (route === null) return 'none'
  return surfacesByStart.find(([start]) => route.startsWith(start))?.[1] ?? 'other'
}

const statuses: Readonly<Record<number, ObservedStatus>> = { 1: '1xx', 2: '2xx', 3: '3xx', 4: '4xx', 5: '5xx' }

const statusOf = ({ ctx, isClientGone }: Watched): ObservedStatus =>
  isClientGone ? 'cut' : (statuses[Math.floor(ctx.res.statusCode / 100)] ?? '5xx')

const loggedId = /^[\w.:/+=-]{1,128}$/

/** Undefined where it might be something else than an id. */
const clientRequestIdOf = (ctx: HttpContext): string | undefined => {
  const id = ctx.get('x-client-request-id') || ctx.get('x-request-id')
  return loggedId.test(id) && withoutKeys(id, []) === id ? id : undefined
}

const isStream = ({ res }: HttpContext): boolean =>
  res.headersSent && String(res.getHeader('content-type') ?? '').startsWith('text/event-stream')

interface Watched {
  readonly ctx: RoutedContext
  readonly startedMs: number
  /** That the connection had carried when the request came. */
  readonly bytesBefore: number
  endedMs: number
  /** The connection went before the answer had its end. */
  isClientGone: boolean
  /** Its end is in the ledger. */
  isClosed: boolean
  /** USD, as the ledger has it; undefined where it has none. */
  charge: string | undefined
}

/** Counts an edge's requests, from their heads to the ends of their answers, and writes a line for each. */
export class RequestWatch {
  readonly #parts: RequestWatchParts
  readonly #open = new TransientMap<string, Watched>()
  /** Answered, and their lines wait for what the ledger makes of them; the oldest first. */
  readonly #unclosed = new TransientMap<string, Watched>()
  readonly #refusals: Refusals
  readonly #unlisten: () => void
  readonly #sweepTimer: NodeJS.Timeout

  constructor(parts: RequestWatchParts) {
    this.#parts = parts
    this.#refusals = new Refusals(parts)
    this.#unlisten = parts.requestLines ? parts.tail.onApplied((applied) => this.#onApplied(applied)) : () => undefined
    this.#sweepTimer = setInterval(() => this.#sweep(performance.now()), listenerLimits.requestLineSweepMs).unref()
  }

  readonly watch: HttpMiddleware = (ctx, next) => {
    const { requestId } = ctx.state
    ctx.state.trace = { authenticatedMs: null, admittedMs: null, routedMs: null, server: null }
    const { tracing } = this.#parts.observer
    if (tracing !== undefined && !healthPaths.has(ctx.path)) ctx.state.trace.span = tracing.request(ctx.req.headers)
    const startedMs = performance.now()
    const bytesBefore = ctx.req.socket.bytesWritten
    const ended = { endedMs: startedMs, isClientGone: false, isClosed: false, charge: undefined }
    this.#open.set(requestId, { ctx, startedMs, bytesBefore, ...ended })
    ctx.res.once('close', () => this.#end(requestId))
    return next()
  }

  readings(connections: number): readonly Reading[] {
    const streams = [...this.#open.values()].filter(({ ctx }) => isStream(ctx)).length
    return [
      { name: 'gateway_requests_in_flight', value: this.#open.size },
      { name: 'gateway_streams_open', value: streams },
      { name: 'gateway_connections_open', value: connections },
    ]
  }

  /** Resolves once the log has the counts of refusals, or after so long. */
  async close(ackMs: number): Promise<void> {
    clearInterval(this.#sweepTimer)
    this.#sweep(Number.POSITIVE_INFINITY)
    this.#unlisten()
    await this.#refusals.close(ackMs)
  }

  #onApplied(applied: readonly Applied[]): void {
    for (const { closed } of applied) {
      if (closed === null) continue
      const { requestId } = closed.routed.data
      const watched = this.#open.get(requestId) ?? this.#unclosed.get(requestId)
      if (watched === undefined) continue
      watched.isClosed = true
      if (closed.closing.type === 'UsageRecorded') watched.charge = closed.closing.data.total
      if (this.#unclosed.delete(requestId)) this.#write(watched)
    }
  }

  #end(requestId: string): void {
    const watched = this.#open.get(requestId)
    if (watched === undefined) return
    this.#open.delete(requestId)
    watched.endedMs = performance.now()
    watched.isClientGone = !watched.ctx.res.writableFinished
    this.#observe(watched)
    endSpan(watched)
    if (!this.#parts.requestLines) return
    if (watched.ctx.state.trace.routedMs === null || watched.isClosed) this.#write(watched)
    else this.#unclosed.set(requestId, watched)
  }

  #observe(watched: Watched): void {
    const { ctx, startedMs, endedMs } = watched
    const { observer } = this.#parts
    const { authenticatedMs, admittedMs, routedMs } = ctx.state.trace
    const surface = surfaceOf(routeOf(ctx))
    this.#countRefusal(ctx, surface)
    observer.requestEnded(surface, statusOf(watched), (endedMs - startedMs) / 1_000)
    if (authenticatedMs === null || admittedMs === null) return
    observer.stageEnded('admit', surface, (admittedMs - authenticatedMs) / 1_000)
    if (routedMs !== null) observer.stageEnded('route', surface, (routedMs - admittedMs) / 1_000)
  }

  #countRefusal({ method, res, state: { key, trace } }: HttpContext, surface: ObservedSurface): void {
    const { code, routedMs, isAsked = false, taskId } = trace
    const isRepeat = res.hasHeader(originalRequestHeader)
    if (code === undefined || routedMs !== null || isAsked || taskId !== undefined || isRepeat) return
    if (method === 'POST' && routedSurfaces.has(surface)) this.#refusals.add(key, code)
  }

  #sweep(nowMs: number): void {
    for (const [requestId, watched] of this.#unclosed) {
      if (nowMs - watched.endedMs < listenerLimits.requestLineWaitMs) return
      this.#unclosed.delete(requestId)
      this.#write(watched)
    }
  }

  #write({ ctx, startedMs, endedMs, bytesBefore, isClientGone, charge }: Watched): void {
    const { logger } = this.#parts
    const { requestId, trace, key } = ctx.state
    const { server, taskId, code } = trace
    const route = routeOf(ctx)
    const surface = surfaceOf(route)
    const line = {
      requestId,
      clientRequestId: clientRequestIdOf(ctx),
      traceId: trace.span?.traceId,
      method: ctx.method,
      route,
      surface,
      workspaceId: key?.workspaceId,
      keyId: key?.keyId,
      model: server?.model,
      provider: server?.provider,
      fallbackLevel: server?.level,
      taskId,
      stream: isStream(ctx),
      cut: isClientGone || undefined,
      status: isClientGone ? undefined : ctx.res.statusCode,
      ms: Math.round(endedMs - startedMs),
      bytes: ctx.req.socket.bytesWritten - bytesBefore,
      chargeUsd: charge,
      code,
    }
    logger.log(surface === 'health' ? 'request.health_checked' : 'request.served', line)
  }
}

const endSpan = ({ ctx, endedMs, isClientGone }: Watched): void => {
  const { requestId, trace, key } = ctx.state
  if (trace.span?.isSampled !== true) return
  const { authenticatedMs, admittedMs, routedMs, server, code } = trace
  const route = routeOf(ctx)
  trace.span.end({
    requestId,
    method: ctx.method,
    scheme: ctx.protocol,
    path: ctx.path,
    route,
    surface: surfaceOf(route),
    status: isClientGone ? undefined : ctx.res.statusCode,
    code,
    workspaceId: key?.workspaceId,
    keyId: key?.keyId,
    model: server?.model,
    provider: server?.provider,
    fallbackLevel: server?.level,
    ...{ authenticatedMs, admittedMs, routedMs, endedMs },
  })
}

const routeOf = ({ _matchedRoute: route }: RoutedContext): string | null => (typeof route === 'string' ? route : null)
