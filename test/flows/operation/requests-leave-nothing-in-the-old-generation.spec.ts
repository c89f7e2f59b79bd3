import t from 'tap'
import { inquire } from '../../bench/asking.ts'
import { requestOf } from '../../bench/requests.ts'
import { startGatewayApart } from '../../support/gateway-apart.ts'
import { scrape } from '../../support/metrics.ts'

/** Of each request. 1 to 3 KB are usual, the most on a busy machine; with what the request held it is 8 and more. */
const bytesMax = 5_500
const requests = 1_500
const roundsMax = 3

t.test('what an answered request held is collected with the new generation', async (t) => {
  const { process: gateway, account } = await startGatewayApart(t, {
    config: { logRequests: false },
    models: { slow: 'plain;delay_ms=2000' },
    flags: ['--max-semi-space-size=64'], // Some four collections in a round.
  })
  const { url, observeUrl } = gateway
  const ask = async (model: string, connections: number, count: number): Promise<void> => {
    const request = requestOf({ url, key: account.secret, format: 'chat', model, stream: false })
    let left = count
    const nextRequest = () => (left-- > 0 ? request : null)
    const { answers } = await inquire({ url, connections, seconds: 60, nextRequest, marksExpected: null })
    t.equal(answers, count, `answers of ${model}`)
  }
  const readHeap = async () => {
    const { value } = await scrape(observeUrl)
    return {
      oldBytes: value('nodejs_heap_space_size_used_bytes', { space: 'old' })!,
      wholeCollections: value('nodejs_gc_duration_seconds_count', { kind: 'major' }) ?? 0,
    }
  }
  // What these hold outlives collections, so that V8 would make objects of their places in the old generation.
  await ask('openai/slow', 400, 800)
  await ask('openai/plain', 32, requests / 3)
  for (let round = 0; round < roundsMax; round += 1) {
    const before = await readHeap()
    await ask('openai/plain', 32, requests)
    const after = await readHeap()
    if (after.wholeCollections > before.wholeCollections) continue
    const bytes = (after.oldBytes - before.oldBytes) / requests
    t.ok(bytes < bytesMax, `${bytes.toFixed(0)} bytes of each request are in the old generation`)
    return
  }
  t.fail('the whole heap was collected in each round')
})
