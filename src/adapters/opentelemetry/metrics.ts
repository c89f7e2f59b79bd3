import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import { hrTime, timeInputToHrTime } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { emptyResource, type Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import type { TelemetryConfig } from '../../config/telemetry.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { operationOf, providerNameOf } from './conventions.ts'

interface Value {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** One metric of the registry that Prometheus scrapes. */
interface Figure {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly Value[]
}

/** For which OpenTelemetry has a name; the others keep their own, by which they are documented. */
const conventions: Readonly<Record<string, readonly [name: string, unit: string]>> = {
  gateway_upstream_duration_seconds: ['gen_ai.client.operation.duration', 's'],
  gateway_time_to_first_token_seconds: ['gen_ai.server.time_to_first_token', 's'],
  gateway_time_per_output_token_seconds: ['gen_ai.server.time_per_output_token', 's'],
  gateway_request_tokens: ['gen_ai.client.token.usage', '{token}'],
}

const unitOf = (name: string): string => {
  if (/_seconds(?:_total)?$/.test(name)) return 's'
  return /_bytes(?:_total)?$/.test(name) ? 'By' : ''
}

type AttributesOf = (labels: Value['labels']) => Attributes

const conventionalAttributes =
  (providerName: (provider: string) => string): AttributesOf =>
  ({ surface, model, provider, deployment, status, kind }) => ({
    'gen_ai.operation.name': operationOf(String(surface)),
    'gen_ai.provider.name': providerName(String(provider)),
    'gen_ai.request.model': model,
    ...(kind === undefined ? {} : { 'gen_ai.token.type': kind }),
    ...(status === 'failed' ? { 'error.type': '_OTHER' } : {}),
    'gateway.provider': provider,
    'gateway.surface': surface,
    ...(deployment === '' ? {} : { 'gateway.deployment': deployment }),
  })

interface HistogramSeries {
  readonly attributes: Attributes
  readonly boundaries: number[]
  /** Up to each boundary, then all. */
  readonly cumulative: number[]
  sum: number
  count: number
}

const addValue = (series: HistogramSeries, { metricName = '', labels: { le }, value }: Value): void => {
  if (metricName.endsWith('_sum')) series.sum = value
  else if (metricName.endsWith('_count')) series.count = value
  else {
    series.cumulative.push(value)
    if (le !== '+Inf') series.boundaries.push(Number(le))
  }
}

const histogramSeries = ({ values }: Figure, attributesOf: AttributesOf): readonly HistogramSeries[] => {
  const all = new Map<string, HistogramSeries>()
  for (const value of values) {
    const { le: _bound, ...labels } = value.labels
    const key = JSON.stringify(Object.entries(labels).sort())
    const known = all.get(key)
    const series = known ?? { attributes: attributesOf(labels), boundaries: [], cumulative: [], sum: 0, count: 0 }
    if (known === undefined) all.set(key, series)
    addValue(series, value)
  }
  return [...all.values()]
}

interface Times {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

const metricDataOf = (figure: Figure, providerName: (provider: string) => string, times: Times): MetricData[] => {
  const { name, help: description, type, values } = figure
  const [conventional, unit = unitOf(name)] = conventions[name] ?? []
  const attributesOf: AttributesOf =
    conventional === undefined ? (labels) => labels : conventionalAttributes(providerName)
  const descriptor = { name: conventional ?? name, description, unit, valueType: ValueType.DOUBLE }
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE }
  if (type === 'histogram') {
    const dataPoints = histogramSeries(figure, attributesOf).map(
      ({ attributes, boundaries, cumulative, sum, count }) => {
        const counts = cumulative.map((below, place) => below - (cumulative[place - 1] ?? 0))
        return { ...times, attributes, value: { buckets: { boundaries, counts }, sum, count } }
      },
    )
    return [{ ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }]
  }
  const dataPoints = values.map(({ labels, value }) => ({ ...times, attributes: attributesOf(labels), value }))
  if (type === 'counter') return [{ ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }]
  return type === 'gauge' ? [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints }] : []
}

interface FigureSource {
  /** As prom-client has them; its declaration has numbers for their types, which are names. */
  figures(): Promise<readonly object[]>
  readonly providers: readonly { readonly name: string; readonly dialect: string; readonly profile: string }[]
}

/** Its resource is replaced by the reader's. */
const produceFigures = ({ figures, providers }: FigureSource): MetricProducer => {
  const names = new Map(providers.map((provider) => [provider.name, providerNameOf(provider.name, provider)]))
  const startTime = timeInputToHrTime(performance.timeOrigin)
  return {
    collect: async () => {
      const times = { startTime, endTime: hrTime() }
      const metrics = ((await figures()) as readonly Figure[])
        .filter(({ values }) => values.length > 0)
        .flatMap((figure) => metricDataOf(figure, (name) => names.get(name) ?? name, times))
      const scopeMetrics = [{ scope: { name: 'model-gateway' }, metrics }]
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] }
    },
  }
}

export const openMetrics = (
  { headers, metricsIntervalMs }: TelemetryConfig,
  url: string,
  resource: Resource,
  source: FigureSource,
): MeterProvider => {
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url, headers: { ...headers } }),
    exportIntervalMillis: metricsIntervalMs,
    exportTimeoutMillis: Math.min(metricsIntervalMs, sharedLimits.telemetryExportMs),
    metricProducers: [produceFigures(source)],
  })
  return new MeterProvider({ resource, readers: [reader] })
}
