import t from 'tap'
import { readConfig } from '../../src/config/config.ts'

const inFile = {
  endpoint: 'http://collector:4318/',
  headers: { authorization: 'Bearer one' },
  service_name: 'mine',
  resource_attributes: { 'deployment.environment.name': 'test' },
  sample_ratio: 0.5,
}

t.test('telemetry is off without an endpoint, or where a variable disables it', async (t) => {
  t.equal(readConfig({}).telemetry, null)
  t.equal(readConfig({ OTEL_SERVICE_NAME: 'mine' }).telemetry, null)
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
  t.not(readConfig(endpoint).telemetry, null)
  t.equal(readConfig({ ...endpoint, OTEL_SDK_DISABLED: 'true' }).telemetry, null)
  t.equal(readConfig({ ...endpoint, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }).telemetry, null)
})

t.test('the standard variables take precedence over the file', async (t) => {
  const file = t.testdir({ 'gateway.yaml': JSON.stringify({ telemetry: inFile }) })
  const read = (env: Readonly<Record<string, string>>) => readConfig(env, { file: `${file}/gateway.yaml` }).telemetry
  t.same(read({}), {
    tracesUrl: 'http://collector:4318/v1/traces',
    metricsUrl: 'http://collector:4318/v1/metrics',
    headers: { authorization: 'Bearer one' },
    serviceName: 'mine',
    resourceAttributes: { 'deployment.environment.name': 'test' },
    sampler: 'parentbased_traceidratio',
    sampleRatio: 0.5,
    metricsIntervalMs: 60_000,
  })
  const changed = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://other/otlp',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces/here',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20two,x-tenant=a=b',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=not-this,host.name=h%2C1',
    OTEL_SERVICE_NAME: 'theirs',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
    OTEL_METRIC_EXPORT_INTERVAL: '5000',
  })
  t.same(changed, {
    tracesUrl: 'https://traces/here',
    metricsUrl: 'https://other/otlp/v1/metrics',
    headers: { authorization: 'Bearer two', 'x-tenant': 'a=b' },
    serviceName: 'theirs',
    resourceAttributes: { 'deployment.environment.name': 'test', 'host.name': 'h,1' },
    sampler: 'traceidratio',
    sampleRatio: 0.01,
    metricsIntervalMs: 5_000,
  })
})

t.test('a variable that cannot be used is named with what it must be', async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
  for (const [env, message] of [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, /OTEL_EXPORTER_OTLP_ENDPOINT: must be an http/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTEL_EXPORTER_OTLP_PROTOCOL: must be http\/protobuf, got `grpc`/],
    [{ OTEL_TRACES_SAMPLER: 'sometimes' }, /OTEL_TRACES_SAMPLER: must be one of always_on,.*got `sometimes`/],
    [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1, got `2`/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /OTEL_EXPORTER_OTLP_HEADERS: must be key=value pairs/],
    [{ OTEL_METRICS_EXPORTER: 'prometheus' }, /OTEL_METRICS_EXPORTER: must be otlp or none, got `prometheus`/],
  ] as const)
    t.throws(() => readConfig({ ...endpoint, ...env }), { message })
})
