import { SpanKind } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TelemetryConfig } from '../../config/telemetry.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import type { Tracing } from '../../runtime/tracing.ts'
import { waitAtMost } from '../../runtime/within.ts'
import { openMetrics } from './metrics.ts'
import { tracingBy } from './spans.ts'

interface TracedProcess {
  readonly role: string
  readonly instance: string
  readonly version: string
}

interface Telemetry {
  readonly tracing: Tracing | null
  stop(): Promise<void>
}

const rootSamplerOf = ({ sampler, sampleRatio }: TelemetryConfig): Sampler => {
  if (sampler.endsWith('always_on')) return new AlwaysOnSampler()
  return sampler.endsWith('always_off') ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(sampleRatio)
}

/** What follows from a request is traced with it, also where the decision on the client's request is not its client's. */
const samplerOf = (telemetry: TelemetryConfig): Sampler => {
  const root = rootSamplerOf(telemetry)
  const inherited = new ParentBasedSampler({ root })
  const ofRequests = telemetry.sampler.startsWith('parentbased_') ? inherited : root
  return {
    shouldSample: (context, traceId, name, kind, ...others) =>
      (kind === SpanKind.SERVER ? ofRequests : inherited).shouldSample(context, traceId, name, kind, ...others),
    toString: () => telemetry.sampler,
  }
}

const resourceOf = (telemetry: TelemetryConfig, { role, instance, version }: TracedProcess): Resource =>
  defaultResource().merge(
    resourceFromAttributes({
      'service.name': telemetry.serviceName,
      'service.version': version,
      'service.instance.id': instance,
      'gateway.role': role,
      ...telemetry.resourceAttributes,
    }),
  )

const openTraces = (telemetry: TelemetryConfig, url: string, resource: Resource): TracerProvider => {
  const exporter = new OTLPTraceExporter({ url, headers: { ...telemetry.headers } })
  return new TracerProvider({
    resource,
    sampler: samplerOf(telemetry),
    spanLimits: { attributeValueLengthLimit: sharedLimits.telemetryAttributeCharactersMax },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
}

/** Sends by batches, apart from requests: what a receiver does not take is dropped. */
export const openTelemetry = (
  telemetry: TelemetryConfig,
  of: TracedProcess & Parameters<typeof openMetrics>[3],
  logger: Logger,
): Telemetry => {
  const warning = new ThrottledWarning(logger)
  setGlobalErrorHandler((fault) => warning.raise('telemetry.export_failed', { fault }))
  const resource = resourceOf(telemetry, of)
  const traces = telemetry.tracesUrl === null ? null : openTraces(telemetry, telemetry.tracesUrl, resource)
  const metrics = telemetry.metricsUrl === null ? null : openMetrics(telemetry, telemetry.metricsUrl, resource, of)
  return {
    tracing: traces && tracingBy(traces.getTracer('model-gateway', of.version)),
    stop: () =>
      waitAtMost(Promise.allSettled([traces?.shutdown(), metrics?.shutdown()]), sharedLimits.telemetryLastExportMs),
  }
}
