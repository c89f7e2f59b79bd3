import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { proxyLimits } from '../../../src/roles/proxy/limits.ts'
import {
  created,
  eventsOf,
  messageEvents,
  responseOf,
  sse,
  usageOf,
} from '../../providers/openai-responses/fixtures.ts'
import { until } from '../../support/clients.ts'
import { type Behaviour, beginStream, startHostileUpstream } from '../../support/hostile-upstream.ts'
import { ask, type Bench, billOf, type Heard, startBench } from './forwarding.ts'

const limited = { code: 'rate_limit_exceeded', message: 'Rate limit reached. Please try again in 11.054s.' }
const begun = eventsOf([...created(), ...messageEvents(['one ', 'two ']).slice(0, 4)])
  .map(sse)
  .join('')
const error = sse({ type: 'error', sequence_number: 6, error: { type: 'tokens', ...limited, param: null } })
const failed = sse({
  type: 'response.failed',
  sequence_number: 7,
  response: responseOf([], { status: 'failed', completed_at: null, error: limited, usage: usageOf(12, 2) }),
})

/** Some text, then the pieces one at a time; then the connection stays open. */
const writes =
  (...pieces: readonly string[]): Behaviour =>
  (response) => {
    beginStream(response)
    const write = ([piece, ...rest]: readonly string[]): void => {
      if (piece !== undefined) response.write(piece, () => setTimeout(() => write(rest), 20))
    }
    write([begun, ...pieces])
  }

const behaviours: Readonly<Record<string, Behaviour>> = {
  both: writes(error + failed),
  late: writes(error, failed),
  alone: writes(error),
  closing: (response) => {
    beginStream(response)
    response.write(begun + error, () => setTimeout(() => response.destroy(), 20))
  },
}

const bench = async (t: Test): Promise<Bench> => startBench(t, { baseUrl: await startHostileUpstream(t, behaviours) })

const responses = { surface: 'responses', stream: true, body: { input: 'Hi', messages: undefined } } as const

const failedResponseOf = ({ error }: Heard): JsonObject => {
  if (error?.failedResponse === undefined) throw new Error('no failed response')
  return error.failedResponse
}

for (const model of ['both', 'late'])
  t.test(`a response that fails within its stream carries its reason and its usage (${model})`, async (t) => {
    const proxy = await bench(t)
    const heard = await ask(proxy, `openai/${model}`, responses)
    t.match(heard, { text: begun, error: { code: 'upstream_stream_interrupted' } })
    t.match(failedResponseOf(heard), { id: 'resp_1', status: 'failed', error: limited, usage: usageOf(12, 2) })
    t.match(billOf(t, proxy), {
      outcome: 'interrupted',
      source: 'reported',
      usage: { promptTotal: 12, outputTotal: 2 },
    })
  })

for (const model of ['alone', 'closing'])
  t.test(`an error without its failed response carries the reason, soon (${model})`, async (t) => {
    const proxy = await bench(t)
    const askedMs = performance.now()
    const heard = await ask(proxy, `openai/${model}`, responses)
    t.ok(performance.now() - askedMs < proxyLimits.upstreamFailedEventMs + 20_000)
    t.match(heard, { text: begun, error: { code: 'upstream_stream_interrupted' } })
    t.strictSame(failedResponseOf(heard), { error: limited })
    t.match(billOf(t, proxy), {
      outcome: 'interrupted',
      source: 'estimated',
      attempts: [{ reason: 'error_in_stream' }],
    })
  })

t.test('the reason is released once the bill is acknowledged, and not without', async (t) => {
  const proxy = await bench(t)
  proxy.log.stall()
  let isOver = false
  const hearing = ask(proxy, 'openai/both', responses).finally(() => {
    isOver = true
  })
  await until(() => proxy.log.appended > 0)
  t.notOk(isOver)
  proxy.log.resume()
  t.match(failedResponseOf(await hearing), { error: limited })

  const refusing = await bench(t)
  refusing.log.refuse()
  const { error } = await ask(refusing, 'openai/both', responses)
  t.match(error, { code: 'log_unavailable' })
  t.equal(error?.failedResponse, undefined)
})
