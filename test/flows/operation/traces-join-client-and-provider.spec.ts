import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import t, { type Test } from 'tap'
import type { TelemetryConfig } from '../../../src/config/telemetry.ts'
import { chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { pricesOf, sheetOf, startTestGateway, untilKeyIsKnown } from '../../support/gateway.ts'
import { type ReceivedSpan, startOtlpReceiver, telemetryTo } from '../../support/otlp-receiver.ts'
import { startRolesTogether } from '../../support/roles-together.ts'

const models = { down: 'down;status=500' }
const counting = 'anthropic/claude-haiku-4-5'
const sheets = { 'openai/plain': sheetOf(), 'openai/down': sheetOf(), [counting]: sheetOf() }
const options = { models, config: { prices: pricesOf(sheets) } }

const traceId = '0af7651916cd43dd8448eb211c80319c'
const clientSpanId = 'b7ad6b7169203331'
const sampled = `00-${traceId}-${clientSpanId}-01`

const tracesTo = (url: string, changes: Partial<TelemetryConfig> = {}): TelemetryConfig =>
  telemetryTo(url, {
    metricsUrl: null,
    headers: { authorization: 'Bearer of-the-receiver' },
    resourceAttributes: { 'deployment.environment.name': 'test' },
    sampler: 'parentbased_always_off',
    ...changes,
  })

const ask = async (url: string, secret: string, body: string, headers: Readonly<Record<string, string>>) => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body,
  })
  await response.text()
  return response
}

const chain = (stream: boolean): string =>
  JSON.stringify({ ...JSON.parse(chatBody('openai/plain', stream)), models: ['openai/down', 'openai/plain'] })

const published = new Set<unknown>(Object.values(conventions))

const areNamed = (t: Test, spans: readonly ReceivedSpan[]): void => {
  const names = new Set(spans.flatMap(({ attributes, resource }) => [attributes, resource].flatMap(Object.keys)))
  t.ok(names.size > 20)
  t.same(
    [...names].filter((name) => !name.startsWith('gateway.') && !published.has(name)),
    [],
    'all other names are published conventions',
  )
}

t.test('one trace from the client to the provider, over edge and proxy', async (t) => {
  const { direct } = await startExternalServers(t)
  const receiver = await startOtlpReceiver(t)
  const config = { ...options.config, telemetry: tracesTo(receiver.url) }
  const { urls, operator, sandbox } = await startRolesTogether(t, { ...options, config, external: direct })
  const [url = ''] = urls
  const { secret, workspaceId } = await operator.openAccount('acme', '100')
  await untilKeyIsKnown(url, { secret })
  sandbox.reset()

  const response = await ask(url, secret, chain(true), { traceparent: sampled, tracestate: 'vendor=one,other=two' })
  t.equal(response.status, 200)
  const requestId = response.headers.get('x-gateway-request-id')
  await until(() => receiver.spans.length >= 6)

  const { spans } = receiver
  t.same(spans.map(({ name }) => name).sort(), [
    ...['POST /v1/chat/completions', 'admission', 'bill', 'chat openai/down', 'chat openai/plain', 'record'],
  ])
  const named = (name: string): ReceivedSpan => spans.find((span) => span.name === name)!
  const server = named('POST /v1/chat/completions')
  t.match(server, { kind: 'SERVER', parentSpanId: clientSpanId, traceState: 'vendor=one,other=two', isError: false })
  for (const span of spans) {
    t.equal(span.traceId, traceId)
    t.match(span.resource, { 'service.name': 'model-gateway', 'deployment.environment.name': 'test' })
    if (span !== server) t.equal(span.parentSpanId, server.spanId, `${span.name} is of the request`)
  }
  t.match(server.attributes, {
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'gateway.request_id': requestId,
    'gateway.workspace_id': workspaceId,
    'gateway.fallback_level': 1,
  })
  t.same(
    [server, named('chat openai/down')].map(({ resource }) => resource['gateway.role']),
    ['edge', 'proxy'],
  )
  t.match(named('chat openai/down'), {
    kind: 'CLIENT',
    isError: true,
    attributes: { 'http.response.status_code': 500, 'gateway.upstream_model': 'down;status=500' },
  })
  const served = named('chat openai/plain')
  t.match(served, {
    kind: 'CLIENT',
    isError: false,
    events: ['first_byte'],
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'openai/plain',
      'gen_ai.request.stream': true,
      'server.address': '127.0.0.1',
    },
  })
  await operator.caughtUp()
  const bill = (await operator.events()).find(({ type }) => type === 'UsageRecorded')?.data as {
    readonly usage: { readonly promptTotal: number; readonly outputTotal: number }
    readonly total: string
  }
  t.equal(served.attributes['gen_ai.usage.input_tokens'], bill.usage.promptTotal)
  t.equal(served.attributes['gen_ai.usage.output_tokens'], bill.usage.outputTotal)
  t.equal(named('bill').attributes['gateway.charge_usd'], Number(bill.total))
  const [admission, record] = [named('admission'), named('record')]
  t.ok(server.startMs <= admission.startMs && admission.endMs <= record.startMs && record.endMs <= server.endMs)

  t.same(
    sandbox.calls().map(({ headers }) => [headers['traceparent'], headers['tracestate']]),
    ['chat openai/down', 'chat openai/plain'].map((name) => [
      `00-${traceId}-${named(name).spanId}-01`,
      'vendor=one,other=two',
    ]),
    'the provider continues the trace of its attempt',
  )
  t.match(receiver.headers[0], { authorization: 'Bearer of-the-receiver', 'content-type': 'application/x-protobuf' })
  areNamed(t, spans)
})

t.test('what is not sampled is passed on, and not sent', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const config = { ...options.config, telemetry: tracesTo(receiver.url) }
  const { gateway, account, sandbox } = await startTestGateway(t, { ...options, config })
  const upstreamOf = async (headers: Readonly<Record<string, string>>) => {
    sandbox.reset()
    t.equal((await ask(gateway.url, account.secret, chatBody('openai/plain', false), headers)).status, 200)
    return sandbox.calls()[0]!.headers
  }
  t.match((await upstreamOf({ traceparent: `00-${traceId}-${clientSpanId}-00` }))['traceparent'], /^00-0af7.*-00$/)
  for (const invalid of [
    '',
    'nothing',
    sampled.toUpperCase(),
    `${sampled}-more`,
    `ff-${traceId}-${clientSpanId}-01`,
    `00-${'0'.repeat(32)}-${clientSpanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `${sampled}, ${sampled}`,
  ]) {
    const { traceparent = '', tracestate } = await upstreamOf({ traceparent: invalid, tracestate: 'vendor=one' })
    t.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    t.notMatch(traceparent, traceId, `ignored: ${invalid}`)
    t.equal(tracestate, undefined)
  }
  const { tracestate } = await upstreamOf({ traceparent: sampled, tracestate: 'no members' })
  t.equal(tracestate, undefined, 'an invalid state is dropped alone')
  const headers = {
    authorization: `Bearer ${account.secret}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    traceparent: sampled,
  }
  sandbox.reset()
  const body = JSON.stringify({ model: counting, messages: [{ role: 'user', content: 'How many?' }] })
  const counted = await fetch(`${gateway.url}/v1/messages/count_tokens`, { method: 'POST', headers, body })
  t.match(await counted.json(), { input_tokens: Number })
  const carried = sandbox.calls().map((call) => call.headers['traceparent'])
  await gateway.stop()
  t.equal(new Set(receiver.spans.map((span) => span.traceId)).size, 1)
  const question = receiver.spans.find(({ name }) => name === `count_tokens ${counting}`)
  t.match(question, { kind: 'CLIENT', isError: false, attributes: { 'http.response.status_code': 200 } })
  t.same(carried, [`00-${traceId}-${question?.spanId}-01`], 'a question has a span too, which its provider continues')
})

t.test('an edge can decide alone which requests are traced', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const config = { ...options.config, telemetry: tracesTo(receiver.url, { sampler: 'always_off' }) }
  const { gateway, account, sandbox } = await startTestGateway(t, { ...options, config })
  sandbox.reset()
  await ask(gateway.url, account.secret, chatBody('openai/plain', false), { traceparent: sampled })
  t.match(sandbox.calls()[0]!.headers['traceparent'], /^00-0af7.*-00$/)
  await gateway.stop()
  t.equal(receiver.spans.length, 0)
})

t.test('without telemetry, and with a receiver that does not answer, requests are served', async (t) => {
  const without = await startTestGateway(t, options)
  await ask(without.gateway.url, without.account.secret, chatBody('openai/plain', false), { traceparent: sampled })
  t.equal(without.sandbox.calls().at(-1)!.headers['traceparent'], undefined, 'off: a trace context is not passed on')

  const config = { ...options.config, telemetry: tracesTo('http://127.0.0.1:9', { sampler: 'always_on' }) }
  const { gateway, account } = await startTestGateway(t, { ...options, config })
  for (let count = 0; count < 20; count += 1)
    t.equal((await ask(gateway.url, account.secret, chatBody('openai/plain', false), {})).status, 200)
})
