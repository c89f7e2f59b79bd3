import t from 'tap'
import type { Deployment } from '../../../src/providers/dialect/provider.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { billOf, callOf, failureOf, hear, providerKey, startBench } from './forwarding.ts'

const bodyBytes = sharedLimits.turnBytes + 1

t.test('unseen thinking is estimated from the call on: building a large request is no part of it', async (t) => {
  let aheadMs = 0
  const bench = await startBench(t, { drainMs: 100, clock: () => Date.now() + aheadMs })
  const gone = new AbortController()
  const call = callOf('openai/gpt-6;hang=1', { stream: true, bodyBytes })
  function* bodySteps() {
    if (bench.sandbox.calls().length === 0) aheadMs = 60_000
    yield
    return call.body
  }
  const heard = hear(bench.dispatch({ ...call, bodySteps }, gone.signal))
  while (bench.sandbox.calls().length === 0) await new Promise(setImmediate)
  gone.abort()
  t.match((await heard).error, { status: 499 })
  const { estimate } = billOf(t, bench)
  t.ok(estimate !== undefined && estimate.thinkingMs < 30_000, `${estimate?.thinkingMs} ms`)
})

t.test('a client that leaves while its request is built stops the steps, and costs nothing', async (t) => {
  const bench = await startBench(t)
  const gone = new AbortController()
  const call = callOf('openai/a', { stream: true, bodyBytes })
  let steps = 0
  function* bodySteps() {
    for (; steps < 20; steps += 1) {
      if (steps === 1) gone.abort()
      yield
    }
    return call.body
  }
  t.match((await hear(bench.dispatch({ ...call, bodySteps }, gone.signal))).error, { status: 499 })
  t.match(failureOf(t, bench), { status: 499, reason: 'client_gone' })
  t.equal(steps, 1)
  t.equal(bench.sandbox.calls().length, 0)
})

t.test('nor are further steps taken to open a stream that is given up', async (t) => {
  const bench = await startBench(t, { drainMs: 1 })
  const gone = new AbortController()
  const call = callOf('openai/a', { stream: true, bodyBytes })
  let parsed = 0
  let isOpened = false
  function* bodySteps() {
    parsed += 1
    const opens = parsed === 2 // After it was built, and before it is counted.
    for (let step = 0; opens && step < 2_000; step += 1) {
      if (step === 1) gone.abort()
      yield
    }
    isOpened ||= opens
    return call.body
  }
  t.match((await hear(bench.dispatch({ ...call, bodySteps }, gone.signal))).error, { status: 499 })
  t.match(billOf(t, bench), { outcome: 'client_gone' })
  t.equal(isOpened, false)
})

const deploymentAt = (name: string): Deployment => ({
  name,
  weight: 1,
  requestsPerMinute: 1,
  provider: {
    name: 'openai',
    dialect: 'openai',
    profile: 'openai',
    baseUrl: 'http://127.0.0.1:9',
    apiKey: providerKey,
  },
})

t.test('nor does it take a request of a deployment where it leaves before one is chosen', async (t) => {
  const bench = await startBench(t, { deployments: ['east', 'west'].map(deploymentAt) })
  const gone = new AbortController()
  const call = callOf('openai/a', { stream: true, bodyBytes })
  function* bodySteps() {
    gone.abort()
    yield
    return call.body
  }
  t.match((await hear(bench.dispatch({ ...call, bodySteps }, gone.signal))).error, { status: 499 })
  t.match(failureOf(t, bench), { status: 499, reason: 'client_gone' })
  t.same(failureOf(t, bench).attempts, [], 'no deployment was tried')
})
