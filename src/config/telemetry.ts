import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import type { EnvironmentVariables } from './environment.ts'
import { configLimits } from './limits.ts'

const samplers = [
  ...['always_on', 'always_off', 'traceidratio'],
  ...['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'],
] as const
type SamplerName = NonNullable<NonNullable<ConfigFile['telemetry']>['sampler']>

export interface TelemetryConfig {
  /** Null: these are not sent. */
  readonly tracesUrl: string | null
  readonly metricsUrl: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly resourceAttributes: Readonly<Record<string, string>>
  readonly sampler: SamplerName
  readonly sampleRatio: number
  readonly metricsIntervalMs: number
}

interface Reading {
  readonly variables: EnvironmentVariables
  readonly problems: ConfigProblem[]
}

/** `key=value` pairs, as the variables have them, percent-encoded. */
const readPairs = (name: string, { variables, problems }: Reading): Readonly<Record<string, string>> => {
  const pairs = (variables.read(name) ?? '').split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.flatMap((pair) => {
      const [key, ...value] = pair.split('=')
      try {
        if (key!.trim() !== '' && value.length > 0) return [[key!.trim(), decodeURIComponent(value.join('=').trim())]]
      } catch {} // Not percent-encoded.
      problems.push({ path: name, message: 'must be key=value pairs, separated by commas and percent-encoded' })
      return []
    }),
  )
}

const readUrl = (name: string, suffix: string, text: string | undefined, { problems }: Reading): string | null => {
  if (text === undefined) return null
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol)) return `${text.replace(/\/+$/, '')}${suffix}`
  problems.push({ path: name, message: 'must be an http:// or https:// URL of an OTLP receiver' })
  return null
}

const readNumber = (
  name: string,
  [least, most]: readonly [number, number],
  { variables, problems }: Reading,
): number | undefined => {
  const text = variables.read(name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (value >= least && value <= most) return value
  problems.push({ path: name, message: `must be a number from ${least} to ${most}, got \`${text}\`` })
  return undefined
}

const readSampler = ({ variables, problems }: Reading): SamplerName | undefined => {
  const text = variables.read('OTEL_TRACES_SAMPLER')
  const found = samplers.find((name) => name === text)
  if (text !== undefined && found === undefined)
    problems.push({ path: 'OTEL_TRACES_SAMPLER', message: `must be one of ${samplers.join(', ')}, got \`${text}\`` })
  return found
}

const isSent = (name: string, inFile: boolean | undefined, { variables, problems }: Reading): boolean => {
  const exporter = variables.read(name)
  if (exporter !== undefined && exporter !== 'otlp' && exporter !== 'none')
    problems.push({ path: name, message: `must be otlp or none, got \`${exporter}\`` })
  return exporter === undefined ? (inFile ?? true) : exporter === 'otlp'
}

/** Null where neither the file nor a standard variable of OpenTelemetry names an endpoint. Variables take precedence. */
export const telemetryFrom = ({ telemetry = {} }: ConfigFile, reading: Reading): TelemetryConfig | null => {
  const { variables, problems } = reading
  const urlOf = (signal: 'TRACES' | 'METRICS', path: string): string | null => {
    const own = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`
    const common = 'OTEL_EXPORTER_OTLP_ENDPOINT'
    if (variables.has(own)) return readUrl(own, '', variables.read(own), reading)
    if (variables.has(common)) return readUrl(common, path, variables.read(common), reading)
    return readUrl('telemetry.endpoint', path, telemetry.endpoint, reading)
  }
  if (variables.read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null
  const tracesUrl = isSent('OTEL_TRACES_EXPORTER', telemetry.traces, reading) ? urlOf('TRACES', '/v1/traces') : null
  const metricsUrl = isSent('OTEL_METRICS_EXPORTER', telemetry.metrics, reading)
    ? urlOf('METRICS', '/v1/metrics')
    : null
  if (tracesUrl === null && metricsUrl === null) return null
  const protocol = variables.read('OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'http/protobuf'
  if (protocol !== 'http/protobuf')
    problems.push({ path: 'OTEL_EXPORTER_OTLP_PROTOCOL', message: `must be http/protobuf, got \`${protocol}\`` })
  const { 'service.name': named, ...resourceAttributes } = {
    ...telemetry.resource_attributes,
    ...readPairs('OTEL_RESOURCE_ATTRIBUTES', reading),
  }
  const intervalMs = readNumber('OTEL_METRIC_EXPORT_INTERVAL', configLimits.metricsIntervalMs, reading)
  return {
    tracesUrl,
    metricsUrl,
    headers: { ...telemetry.headers, ...readPairs('OTEL_EXPORTER_OTLP_HEADERS', reading) },
    serviceName: variables.read('OTEL_SERVICE_NAME') ?? telemetry.service_name ?? named ?? 'model-gateway',
    resourceAttributes,
    sampler: readSampler(reading) ?? telemetry.sampler ?? 'parentbased_traceidratio',
    sampleRatio: readNumber('OTEL_TRACES_SAMPLER_ARG', [0, 1], reading) ?? telemetry.sample_ratio ?? 1,
    metricsIntervalMs: intervalMs ?? (telemetry.metrics_interval_seconds ?? 60) * 1_000,
  }
}
