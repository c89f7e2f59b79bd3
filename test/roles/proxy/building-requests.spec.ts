import t from 'tap'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { billOf, callOf, hear, startBench } from './forwarding.ts'

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
