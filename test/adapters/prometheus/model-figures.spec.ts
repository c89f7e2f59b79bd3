import { Registry } from 'prom-client'
import t from 'tap'
import { metricsLimits } from '../../../src/adapters/prometheus/limits.ts'
import { RequestFigures } from '../../../src/adapters/prometheus/model-figures.ts'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import type { Observer } from '../../../src/runtime/observer.ts'

type ObservedClosing = Parameters<Observer['requestClosed']>[0]

const served = (model: string, more: Partial<ObservedClosing> = {}): ObservedClosing => ({
  surface: 'chat',
  status: 'completed',
  model,
  provider: 'openai',
  attempts: [{ model, provider: 'openai', deployment: 'east', outcome: 'served', durationMs: 2_000 }],
  usage: { ...noUsage, promptTotal: 100, cacheRead: 60, cacheWrite5m: 10, outputTotal: 101, outputReasoning: 20 },
  total: '0.000000000001',
  firstTokenMs: 300,
  generationMs: 1_000,
  ...more,
})

t.test('costs are summed exactly, kinds of tokens add up, and time a token is of those after the first', async (t) => {
  const registry = new Registry()
  const figures = new RequestFigures(registry)
  for (let count = 0; count < 3; count += 1) figures.record(served('openai/a'))
  const text = await registry.metrics()
  const of = 'surface="chat",model="openai/a",provider="openai",deployment="east"'
  for (const line of [
    `gateway_cost_usd_total{${of}} 3e-12`,
    `gateway_model_requests_total{${of},status="completed"} 3`,
    `gateway_tokens_total{${of},kind="input"} 90`,
    `gateway_tokens_total{${of},kind="cache_read"} 180`,
    `gateway_tokens_total{${of},kind="cache_write"} 30`,
    `gateway_tokens_total{${of},kind="output"} 243`,
    `gateway_tokens_total{${of},kind="reasoning"} 60`,
    `gateway_time_to_first_token_seconds_bucket{${of},le="0.25"} 0`,
    `gateway_time_to_first_token_seconds_bucket{${of},le="0.5"} 3`,
    `gateway_time_to_first_token_seconds_bucket{${of},le="+Inf"} 3`,
    `gateway_time_per_output_token_seconds_bucket{${of},le="0.01"} 3`,
    `gateway_request_tokens_bucket{${of},kind="input",le="64"} 0`,
    `gateway_request_tokens_bucket{${of},kind="input",le="256"} 3`,
    `gateway_request_tokens_sum{${of},kind="output"} 303`,
    `gateway_upstream_duration_seconds_sum{${of},status="served"} 6`,
  ])
    t.ok(text.includes(`${line}\n`), line)
})

t.test('an attempt counts for the deployment that failed, and one that was not made does not', async (t) => {
  const registry = new Registry()
  const last = { model: 'openai/b', provider: 'openai', outcome: 'failed', durationMs: 10 } as const
  new RequestFigures(registry).record({
    surface: 'chat',
    status: '5xx',
    attempts: [{ ...last, model: 'openai/a', outcome: 'passed_over' }, last],
    generationMs: null,
  })
  const text = await registry.metrics()
  t.match(text, /gateway_model_requests_total\{[^}]*model="openai\/b"[^}]*status="5xx"\} 1/)
  t.match(text, /gateway_upstream_duration_seconds_count\{[^}]*model="openai\/b"[^}]*status="failed"\} 1/)
  t.notMatch(text, 'openai/a')
})

t.test('models beyond the bound are one', async (t) => {
  const registry = new Registry()
  const figures = new RequestFigures(registry)
  for (let count = 0; count < metricsLimits.modelSeriesMax + 5; count += 1) figures.record(served(`openai/${count}`))
  const requests = (await registry.metrics()).match(/^gateway_model_requests_total\{.*$/gm) ?? []
  t.equal(requests.length, metricsLimits.modelSeriesMax + 1)
  t.match(requests.at(-1), /model="other",provider="openai",deployment="",status="completed"\} 5$/)
})
