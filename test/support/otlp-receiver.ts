import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { TelemetryConfig } from '../../src/config/telemetry.ts'

type Value = string | number | boolean
interface Message<Content> {
  decode(bytes: Uint8Array): unknown
  toObject(message: unknown, options: { readonly longs: unknown; readonly defaults: boolean }): Content
}

interface Pair {
  readonly key: string
  readonly value: Readonly<Record<string, Value>>
}

interface Resource {
  readonly attributes: readonly Pair[]
}

interface SpanMessage {
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly parentSpanId: Uint8Array
  readonly traceState: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: number
  readonly endTimeUnixNano: number
  readonly events: readonly { readonly name: string }[]
  readonly attributes: readonly Pair[]
  readonly status: { readonly code: number } | null
}

interface PointMessage {
  readonly attributes: readonly Pair[]
  readonly asDouble?: number
  readonly asInt?: number
  readonly count?: number
  readonly sum?: number
  readonly explicitBounds?: readonly number[]
  readonly bucketCounts?: readonly number[]
}

interface Points {
  readonly dataPoints: readonly PointMessage[]
}

interface MetricMessage {
  readonly name: string
  readonly unit: string
  readonly sum?: Points
  readonly gauge?: Points
  readonly histogram?: Points
}

interface Traces {
  readonly resourceSpans: readonly {
    readonly resource: Resource
    readonly scopeSpans: readonly { readonly spans: readonly SpanMessage[] }[]
  }[]
}

interface Metrics {
  readonly resourceMetrics: readonly {
    readonly resource: Resource
    readonly scopeMetrics: readonly { readonly metrics: readonly MetricMessage[] }[]
  }[]
}

/** Generated from OpenTelemetry's own .proto files, as their SDK shipped it. */
const { collector } = createRequire(import.meta.url)('otlp-proto/build/src/generated/root.js').opentelemetry.proto as {
  readonly collector: {
    readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: Message<Traces> } }
    readonly metrics: { readonly v1: { readonly ExportMetricsServiceRequest: Message<Metrics> } }
  }
}

const read = <Content>(type: Message<Content>, body: Uint8Array): Content =>
  type.toObject(type.decode(body), { longs: Number, defaults: true })

export type Attributes = Readonly<Record<string, Value>>

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT'
  readonly isError: boolean
  readonly startMs: number
  readonly endMs: number
  readonly events: readonly string[]
  readonly attributes: Attributes
  readonly resource: Attributes
}

export interface ReceivedMetric {
  readonly name: string
  readonly unit: string
  readonly type: 'sum' | 'gauge' | 'histogram'
  readonly points: readonly {
    readonly attributes: Attributes
    readonly value: number
    readonly count: number
    readonly sum: number
    readonly bounds: readonly number[]
    readonly counts: readonly number[]
  }[]
  readonly resource: Attributes
}

export interface OtlpReceiver {
  readonly url: string
  readonly headers: readonly IncomingHttpHeaders[]
  readonly spans: readonly ReceivedSpan[]
  /** Of the last export of each process. */
  metrics(): readonly ReceivedMetric[]
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const attributesOf = (pairs: readonly Pair[]): Attributes =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value[String(value['value'] ?? Object.keys(value)[0])]!]))

const kinds = ['INTERNAL', 'INTERNAL', 'SERVER', 'CLIENT'] as const

const spanOf = (resource: Resource, span: SpanMessage): ReceivedSpan => ({
  traceId: hex(span.traceId),
  spanId: hex(span.spanId),
  parentSpanId: hex(span.parentSpanId),
  traceState: span.traceState,
  name: span.name,
  kind: kinds[span.kind] ?? 'INTERNAL',
  isError: span.status?.code === 2,
  startMs: span.startTimeUnixNano / 1e6,
  endMs: span.endTimeUnixNano / 1e6,
  events: span.events.map(({ name }) => name),
  attributes: attributesOf(span.attributes),
  resource: attributesOf(resource.attributes),
})

const spansIn = (body: Uint8Array): readonly ReceivedSpan[] =>
  read(collector.trace.v1.ExportTraceServiceRequest, body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => spanOf(resource, span))),
  )

const metricOf = (resource: Resource, metric: MetricMessage): ReceivedMetric => {
  const { name, unit, sum, gauge, histogram } = metric
  return {
    ...{ name, unit, type: sum ? 'sum' : gauge ? 'gauge' : 'histogram' },
    points: (sum ?? gauge ?? histogram)!.dataPoints.map((point) => ({
      attributes: attributesOf(point.attributes),
      value: point.asDouble ?? point.asInt ?? Number.NaN,
      count: point.count ?? Number.NaN,
      sum: point.sum ?? Number.NaN,
      bounds: point.explicitBounds ?? [],
      counts: point.bucketCounts ?? [],
    })),
    resource: attributesOf(resource.attributes),
  }
}

const metricsIn = (body: Uint8Array): readonly ReceivedMetric[] =>
  read(collector.metrics.v1.ExportMetricsServiceRequest, body).resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) => metrics.map((metric) => metricOf(resource, metric))),
  )

/** An OTLP receiver over HTTP. */
export const startOtlpReceiver = async (t: Test): Promise<OtlpReceiver> => {
  const headers: IncomingHttpHeaders[] = []
  const spans: ReceivedSpan[] = []
  const metrics = new Map<Value | undefined, readonly ReceivedMetric[]>()
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces)
      headers.push(request.headers)
      if (request.url === '/v1/traces') spans.push(...spansIn(body))
      if (request.url === '/v1/metrics') {
        const received = metricsIn(body)
        metrics.set(received[0]?.resource['service.instance.id'], received)
      }
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, headers, spans, metrics: () => [...metrics.values()].flat() }
}

/** Of a gateway that sends everything there at once. */
export const telemetryTo = (url: string, changes: Partial<TelemetryConfig> = {}): TelemetryConfig => ({
  tracesUrl: `${url}/v1/traces`,
  metricsUrl: `${url}/v1/metrics`,
  headers: {},
  serviceName: 'model-gateway',
  resourceAttributes: {},
  sampler: 'always_on',
  sampleRatio: 1,
  metricsIntervalMs: 1_000,
  ...changes,
})
