import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import type { CallSpans, RequestSpan, TraceContext, Tracing } from '../../runtime/tracing.ts'
import { operationOf, providerNameOf } from './conventions.ts'

type Carrier = Parameters<Tracing['request']>[0]
type TracedRequest = Parameters<RequestSpan['end']>[0]
type TracedCall = Parameters<Tracing['call']>[0]
type TracedTarget = Parameters<CallSpans['attemptCalled']>[0]
type TracedFailure = Parameters<CallSpans['attemptFailed']>[0]
type TracedBill = Parameters<CallSpans['settled']>[0]

const propagator = new W3CTraceContextPropagator()
const getter = {
  get: (carrier: Carrier, name: string) => carrier[name] as string | undefined,
  keys: (carrier: Carrier) => Object.keys(carrier),
}
const setter = {
  set: (carrier: Record<string, string>, name: string, value: string) => {
    if (value !== '') carrier[name] = value
  },
}

const extract = (carrier: Carrier): Context => propagator.extract(ROOT_CONTEXT, carrier, getter)

const contextFor = (context: Context): TraceContext => {
  const carrier: Record<string, string> = {}
  propagator.inject(context, carrier, setter)
  return carrier as unknown as TraceContext
}

const isSampled = ({ traceparent }: TraceContext): boolean =>
  (Number.parseInt(traceparent.slice(-2), 16) & TraceFlags.SAMPLED) !== 0

const fail = (span: Span, reason: string): void => {
  span.setAttribute('error.type', reason)
  span.setStatus({ code: SpanStatusCode.ERROR, message: reason })
}

const usageAttributes = ({ usage }: TracedBill): Attributes =>
  usage === undefined
    ? {}
    : {
        'gen_ai.usage.input_tokens': usage.promptTotal,
        'gen_ai.usage.output_tokens': usage.outputTotal,
        'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
        'gen_ai.usage.cache_creation.input_tokens':
          usage.cacheWrite5m + usage.cacheWrite1h + (usage.cacheWrite12h ?? 0),
        'gen_ai.usage.reasoning.output_tokens': usage.outputReasoning,
      }

const knownMethods: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '))

const requestAttributes = (request: TracedRequest): Attributes => {
  const { method, scheme, path, route, status, fallbackLevel, ...others } = request
  const isKnown = knownMethods.has(method)
  return {
    'http.request.method': isKnown ? method : '_OTHER',
    ...(isKnown ? {} : { 'http.request.method_original': method }),
    'url.scheme': scheme,
    'url.path': path,
    ...(route === null ? {} : { 'http.route': route }),
    ...(status === undefined ? {} : { 'http.response.status_code': status }),
    'gateway.request_id': others.requestId,
    'gateway.surface': others.surface,
    ...(others.workspaceId === undefined ? {} : { 'gateway.workspace_id': others.workspaceId }),
    ...(others.keyId === undefined ? {} : { 'gateway.key_id': others.keyId }),
    ...(others.model === undefined ? {} : { 'gateway.model': others.model }),
    ...(others.provider === undefined ? {} : { 'gateway.provider': others.provider }),
    ...(fallbackLevel === undefined ? {} : { 'gateway.fallback_level': fallbackLevel }),
  }
}

/** What is added to `performance.now()`. One for all spans of a request in a process: Date.now() is coarser than they are apart. */
const epochNow = (): number => Date.now() - performance.now()

class ServerSpan implements RequestSpan {
  readonly #epochMs = epochNow()
  readonly #tracer: Tracer
  readonly #span: Span
  readonly #parent: Context

  constructor(tracer: Tracer, parent: Context) {
    this.#tracer = tracer
    this.#parent = parent
    const startTime = this.#epochMs + performance.now()
    this.#span = tracer.startSpan('HTTP', { kind: SpanKind.SERVER, startTime }, parent)
  }

  get context(): TraceContext {
    return contextFor(this.#context)
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  get isSampled(): boolean {
    return this.#span.isRecording()
  }

  end(request: TracedRequest): void {
    const { route, status, code, authenticatedMs, admittedMs, routedMs, endedMs } = request
    const attributes = requestAttributes(request)
    const name = attributes['http.request.method'] === '_OTHER' ? 'HTTP' : request.method
    this.#span.updateName(route === null ? name : `${name} ${route}`)
    this.#span.setAttributes(attributes)
    if (status === undefined) fail(this.#span, 'cut')
    else if (status >= 500) fail(this.#span, code ?? String(status))
    else if (code !== undefined) this.#span.setAttribute('error.type', code)
    this.#stage('admission', authenticatedMs, admittedMs)
    this.#stage('record', admittedMs, routedMs)
    this.#span.end(this.#epochMs + endedMs)
  }

  get #context(): Context {
    return trace.setSpan(this.#parent, this.#span)
  }

  #stage(name: string, begunMs: number | null, endedMs: number | null): void {
    if (begunMs === null || endedMs === null) return
    const startTime = this.#epochMs + begunMs
    this.#tracer.startSpan(name, { startTime }, this.#context).end(this.#epochMs + endedMs)
  }
}

class ProxySpans implements CallSpans {
  readonly traceId: string | null
  readonly #tracer: Tracer
  readonly #call: TracedCall
  readonly #parent: Context
  readonly #epochMs = epochNow()
  #attempt: Span | null = null

  constructor(tracer: Tracer, call: TracedCall) {
    this.#tracer = tracer
    this.#call = call
    this.#parent = extract({ ...call.trace })
    this.traceId = trace.getSpanContext(this.#parent)?.traceId ?? null
  }

  attemptCalled({ model, upstreamModel, provider }: TracedTarget, url: string): TraceContext {
    const { requestId, surface, stream, question } = this.#call
    const operation = question?.type ?? operationOf(surface)
    const namesModel = question === undefined || question.type === 'count_tokens'
    const options = { kind: SpanKind.CLIENT, startTime: this.#now() }
    const span = this.#tracer.startSpan(namesModel ? `${operation} ${model}` : operation, options, this.#parent)
    this.#attempt = span
    if (span.isRecording()) {
      const { hostname, port, protocol } = new URL(url)
      span.setAttributes({
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': providerNameOf(provider.name, provider),
        ...(namesModel ? { 'gen_ai.request.model': model, 'gateway.upstream_model': upstreamModel } : {}),
        'gen_ai.request.stream': stream,
        'server.address': hostname,
        'server.port': Number(port) || (protocol === 'http:' ? 80 : 443),
        'gateway.request_id': requestId,
        'gateway.surface': surface,
        'gateway.provider': provider.name,
        ...(provider.deployment === undefined ? {} : { 'gateway.deployment': provider.deployment }),
      })
    }
    return contextFor(trace.setSpan(this.#parent, span))
  }

  firstByte(): void {
    this.#attempt?.addEvent('first_byte', this.#now())
  }

  attemptFailed(failure: TracedFailure): void {
    this.#endAttempt(failure, performance.now())
  }

  settled(bill: TracedBill, endedMs: number): void {
    if (this.#attempt === null) return
    this.#attempt.setAttributes(usageAttributes(bill))
    const last = bill.attempts.at(-1) ?? { status: null, reason: null }
    this.#endAttempt({ status: last.status, reason: last.reason ?? bill.reason ?? null }, endedMs)
  }

  recorded(begunMs: number, bill: TracedBill, fault?: unknown): void {
    const span = this.#tracer.startSpan('bill', { startTime: this.#epochMs + begunMs }, this.#parent)
    if (span.isRecording()) {
      const { total, source, outcome, reason } = bill
      span.setAttributes({
        'gateway.request_id': this.#call.requestId,
        ...(total === undefined ? {} : { 'gateway.charge_usd': Number(total) }),
        ...(source === undefined ? {} : { 'gateway.usage_source': source }),
        'gateway.outcome': outcome ?? reason ?? 'failed',
      })
      if (fault !== undefined) fail(span, 'log_unavailable')
    }
    span.end(this.#now())
  }

  #now(): number {
    return this.#epochMs + performance.now()
  }

  #endAttempt({ status, reason }: TracedFailure, endedMs: number): void {
    const span = this.#attempt
    this.#attempt = null
    if (span === null || !span.isRecording()) return
    if (status !== null) span.setAttribute('http.response.status_code', status)
    if (reason !== null) fail(span, reason)
    span.end(this.#epochMs + endedMs)
  }
}

export const tracingBy = (tracer: Tracer): Tracing => ({
  request: (headers) => new ServerSpan(tracer, extract(headers)),
  // Of most requests nothing is recorded: they cost one span that is not recorded, and the text of its context.
  call: (call) => (call.trace === undefined || isSampled(call.trace) ? new ProxySpans(tracer, call) : null),
})
