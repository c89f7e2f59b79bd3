import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import t from 'tap'
import { chat, chatBody, until } from '../../support/clients.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { type ReceivedMetric, startOtlpReceiver, telemetryTo } from '../../support/otlp-receiver.ts'

const published = new Set<unknown>(Object.values(conventions))
const attributes = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'openai/plain',
  'gateway.provider': 'openai',
  'gateway.surface': 'chat',
}

t.test('metrics are sent as they are scraped, by the names of the conventions, with traces as exemplars', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const { gateway, account, operator } = await startTestGateway(t, {
    config: {
      observe: { host: '127.0.0.1', port: 0 },
      telemetry: telemetryTo(receiver.url),
    },
  })
  for (const stream of [false, true, true])
    t.equal((await chat(gateway.url, account.secret, chatBody('openai/plain', stream))).status, 200)
  const find = (name: string): ReceivedMetric | undefined => receiver.metrics().find((metric) => metric.name === name)
  const usageOf = (type: string) =>
    find('gen_ai.client.token.usage')?.points.find((point) => point.attributes['gen_ai.token.type'] === type)
  await until(() => usageOf('input')?.count === 3 && find('gateway_requests_total') !== undefined)

  const own = receiver.metrics().filter(({ name }) => name.startsWith('gen_ai.'))
  t.same(own.map(({ name, unit, type }) => [name, unit, type]).sort(), [
    ['gen_ai.client.operation.duration', 's', 'histogram'],
    ['gen_ai.client.token.usage', '{token}', 'histogram'],
    ['gen_ai.server.time_per_output_token', 's', 'histogram'],
    ['gen_ai.server.time_to_first_token', 's', 'histogram'],
  ])
  for (const { name, points } of own) {
    t.ok(published.has(name), name)
    for (const key of points.flatMap((point) => Object.keys(point.attributes)))
      t.ok(published.has(key) || key.startsWith('gateway.'), key)
  }
  t.same(find('gen_ai.client.operation.duration')?.points[0]?.attributes, attributes)
  t.match(find('gen_ai.client.operation.duration')?.points[0], { count: 3 })
  t.match(find('gen_ai.server.time_to_first_token')?.points[0], { count: 2, bounds: [0.001, 0.005] })

  await operator.caughtUp()
  const bills = (await operator.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : []))
  for (const [type, member] of [
    ['input', 'promptTotal'],
    ['output', 'outputTotal'],
  ] as const) {
    const total = bills.reduce((sum, { usage }) => sum + usage[member], 0)
    t.match(usageOf(type), { sum: total, count: 3 })
    t.equal(
      usageOf(type)?.counts.reduce((sum, count) => sum + count, 0),
      3,
      'each bucket has its own',
    )
  }
  t.match(find('gateway_requests_total'), { type: 'sum', points: [{ value: Number }] })
  t.match(find('gateway_build_info'), {
    type: 'gauge',
    points: [{ value: 1 }],
    resource: { 'gateway.role': 'gateway' },
  })

  const scrapeAs = async (accept: string): Promise<string> =>
    (await fetch(`${gateway.observeUrl}/metrics`, { headers: { accept } })).text()
  const open = await scrapeAs('application/openmetrics-text;version=1.0.0,text/plain;q=0.5')
  t.ok(open.endsWith('# EOF\n'))
  t.match(open, /^gateway_requests_total\{/m)
  t.notMatch(open, '_total_total')
  await until(() => receiver.spans.some(({ name }) => name === 'bill'))
  const [, exemplar] =
    /gateway_time_to_first_token_seconds_bucket\{.*\} \d+ # \{trace_id="([0-9a-f]{32})"\}/.exec(open) ?? []
  t.ok(
    receiver.spans.some(({ traceId }) => traceId === exemplar),
    'a bucket names a trace that was sent',
  )
  t.notMatch(await scrapeAs('text/plain'), 'trace_id')
})
