import t from 'tap'
import { proxyLimits } from '../../../src/roles/proxy/limits.ts'
import { callAgainAfterMs, retriesFor } from '../../../src/roles/proxy/retry.ts'
import { noObserver } from '../../../src/runtime/observer.ts'
import { callOf, hear, startBench, stay } from './forwarding.ts'

const slowest = (): number => 0
const soonest = (): number => 1
const after = (failures: number, elapsedMs = 0, retryAfterMs = 0) => ({ failures, elapsedMs, retryAfterMs })

t.test('how long the same candidate rests before it is called again', async (t) => {
  const often = { max: 10, budgetMs: 600_000 }
  const delays = [1, 2, 3, 4, 5, 6].map((failures) => callAgainAfterMs(often, after(failures), slowest))
  t.same(delays, [500, 1_000, 2_000, 4_000, 8_000, 8_000], 'twice as long each time, up to a bound')
  t.equal(callAgainAfterMs(often, after(1), soonest), 375, 'a quarter less by chance')
  t.equal(callAgainAfterMs(often, after(1, 0, 3_000), soonest), 3_000, 'never sooner than the provider asks')
  t.equal(callAgainAfterMs(often, after(5, 0, 1_000), slowest), 8_000)
})

t.test('retries end with their number, and with their time', async (t) => {
  t.equal(callAgainAfterMs({}, after(1), slowest), null, 'none where nothing is configured')
  t.equal(callAgainAfterMs({ max: 0 }, after(1), slowest), null)
  t.not(callAgainAfterMs({ max: 2 }, after(2), slowest), null)
  t.equal(callAgainAfterMs({ max: 2 }, after(3), slowest), null)
  t.equal(callAgainAfterMs({ max: 2, budgetMs: 5_000 }, after(1, 4_500), slowest), 500, 'the last moment')
  t.equal(callAgainAfterMs({ max: 2, budgetMs: 5_000 }, after(1, 4_501), slowest), null)
  t.equal(callAgainAfterMs({ max: 2, budgetMs: 5_000 }, after(1, 0, 5_001), slowest), null, 'it asks for more time')
  t.equal(callAgainAfterMs({ max: 2 }, after(1, proxyLimits.retriesMs), slowest), null, 'time is bounded by default')
})

t.test('a model can differ from its provider', async (t) => {
  const retries = { max: 1, budgetMs: 5_000, models: { o3: { max: 3 } } }
  const provider = {
    name: 'a',
    dialect: 'openai',
    profile: 'openai',
    baseUrl: 'http://a',
    apiKey: 'k',
    retries,
  } as const
  t.match(retriesFor(provider, 'a/o3'), { max: 3, budgetMs: 5_000 })
  t.match(retriesFor(provider, 'a/o4'), { max: 1, budgetMs: 5_000 })
})

t.test('retries are counted by provider', async (t) => {
  const retried: string[] = []
  const observer = { ...noObserver, retried: (provider: string) => void retried.push(provider) }
  const bench = await startBench(t, { observer, retries: { max: 2, budgetMs: 10_000 } })
  await hear(bench.dispatch(callOf(['openai/gpt-4o-mini;status=503', 'xai/grok-4']), stay()))
  t.same(retried, ['openai', 'openai'], 'two retries of the first, and the next candidate is none')
})
