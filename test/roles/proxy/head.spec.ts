import t from 'tap'
import { headOf } from '../../../src/roles/proxy/attempt.ts'
import { proxyLimits } from '../../../src/roles/proxy/limits.ts'

t.test('a head names few of the tools that were left out, and none at length', async (t) => {
  const droppedTools = Array.from({ length: 1_000 }, (_, index) => `${index}`.padEnd(100_000, 'x'))
  const served = { candidate: { level: 0, model: 'openai/plain' }, answered: { type: 'stream', droppedTools } }
  const { droppedTools: named = [] } = headOf(served as unknown as Parameters<typeof headOf>[0])
  t.equal(named.length, proxyLimits.droppedToolsMax)
  t.ok(named.every((name) => name.length <= 100))
})
