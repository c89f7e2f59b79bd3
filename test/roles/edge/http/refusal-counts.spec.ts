import t from 'tap'
import type { Key } from '../../../../src/domain/accounts/accounts.ts'
import { GatewayError, logUnavailable } from '../../../../src/errors/gateway-error.ts'
import type { FactOf } from '../../../../src/events/envelope.ts'
import type { RefusalsCounted } from '../../../../src/events/types.ts'
import { decodeKeyRecord } from '../../../../src/roles/edge/admission/idempotency/key-record.ts'
import { listenerLimits } from '../../../../src/roles/edge/http/limits.ts'
import { Refusals } from '../../../../src/roles/edge/http/refusals.ts'
import { until } from '../../../support/clients.ts'
import { MemoryLog } from '../../../support/memory-log.ts'
import { plainAsk, startEdge } from '../edge-fixture.ts'
import { MemoryOutcomes } from '../memory-outcomes.ts'
import { plainBody, startVideoEdge } from '../video-fixture.ts'

const countsIn = ({ events }: MemoryLog): readonly RefusalsCounted['counts'][number][] =>
  events.flatMap((event) => (event.type === 'RefusalsCounted' ? event.data.counts : []))

t.test('what is refused before it is routed is counted by key and code, and nothing else', async (t) => {
  const { log, post, url, stop } = await startEdge(t)
  t.equal((await post(plainAsk)).status, 200)
  const absent = { ...plainAsk, model: 'openai/absent' }
  for (let time = 0; time < 3; time += 1) t.equal((await post(absent)).status, 404)
  t.equal((await post(plainAsk, { authorization: 'Bearer sk-unknown' })).status, 401)
  t.equal((await post({}, {}, '/v1/nothing')).status, 404)
  t.equal((await fetch(`${url}/v1/ledger/wallet`)).status, 401)
  await stop()
  const counts = countsIn(log)
  t.match(counts, [
    { workspaceId: 'acme', keyId: 'key-1', code: 'model_not_found', count: Number },
    { workspaceId: null, keyId: null, code: 'invalid_api_key', count: 1 },
  ])
  t.ok(counts.every(({ minute }) => /:00\.000Z$/.test(minute)))
  t.equal(
    counts.reduce((sum, { count }) => sum + count, 0),
    4,
  )
})

const key = (keyId: string): Key => ({ keyId, workspaceId: 'acme' }) as Key

t.test('an event has so many rows, and the rest in one; of a minute they are added up', async (t) => {
  let nowMs = Date.parse('2026-11-27T20:44:59.999Z')
  const log = new MemoryLog({ checksSchemas: true })
  const refusals = new Refusals({ log, clock: () => nowMs, refusalsMs: 3_600_000 })
  const { refusalRowsMax } = listenerLimits
  for (let each = 0; each < refusalRowsMax + 50; each += 1) refusals.add(key(`key-${each}`), 'rate_limit_exceeded')
  refusals.add(key('key-0'), 'rate_limit_exceeded')
  nowMs += 1
  refusals.add(key('key-0'), 'rate_limit_exceeded')
  await refusals.close(1_000)
  const counts = countsIn(log)
  t.equal(log.events.length, 1)
  t.equal(counts.length, refusalRowsMax + 1)
  t.same(counts[0], {
    ...{ minute: '2026-11-27T20:44:00.000Z', workspaceId: 'acme', keyId: 'key-0' },
    ...{ code: 'rate_limit_exceeded', count: 2 },
  })
  t.match(counts.at(-1), {
    minute: '2026-11-27T20:44:00.000Z',
    workspaceId: null,
    keyId: null,
    code: 'other',
    count: 51,
  })
})

t.test('what the log does not take is in the next event', async (t) => {
  const taken: FactOf<'RefusalsCounted'>[] = []
  let isAway = true
  let tries = 0
  const append = async (facts: readonly FactOf<'RefusalsCounted'>[]) => {
    tries += 1
    if (isAway) throw new Error('away')
    taken.push(...facts)
    return { sequence: 1 }
  }
  const refusals = new Refusals({ log: { append }, clock: () => 0, refusalsMs: 1 })
  refusals.add(undefined, 'invalid_api_key')
  await until(() => tries > 1)
  refusals.add(undefined, 'invalid_api_key')
  isAway = false
  await until(() => taken.length > 0)
  await refusals.close(1_000)
  t.same(
    taken.flatMap(({ data }) => data.counts),
    [{ minute: '1970-01-01T00:00:00.000Z', workspaceId: null, keyId: null, code: 'invalid_api_key', count: 2 }],
  )
})

t.test('what is counted while an event is on its way is in one more, before the edge stops', async (t) => {
  const taken: FactOf<'RefusalsCounted'>[] = []
  const { promise: acknowledged, resolve: acknowledge } = Promise.withResolvers<void>()
  const append = async (facts: readonly FactOf<'RefusalsCounted'>[]) => {
    taken.push(...facts)
    await acknowledged
    return { sequence: 1 }
  }
  const refusals = new Refusals({ log: { append }, clock: () => 0, refusalsMs: 1 })
  refusals.add(undefined, 'invalid_api_key')
  await until(() => taken.length === 1)
  refusals.add(undefined, 'model_not_found')
  const closed = refusals.close(1_000)
  acknowledge()
  await closed
  t.same(
    taken.map(({ data }) => data.counts.map(({ code }) => code)),
    [['invalid_api_key'], ['model_not_found']],
  )
})

t.test('with the log away an edge waits for its counts beside all else', async (t) => {
  const { log, post, stop } = await startEdge(t, { bounds: { closingAckMs: 5_000, allowanceReturnMs: 100 } })
  await (await post({ ...plainAsk, model: 'openai/absent' })).text()
  log.stall()
  const startedMs = performance.now()
  await stop()
  t.ok(performance.now() - startedMs < 4_000)
  log.resume()
})

t.test('neither a question that reached its provider nor a task that exists is a refusal', async (t) => {
  const failing = await startEdge(t, {
    // biome-ignore lint/correctness/useYield: it fails before its first part
    serve: async function* () {
      throw new GatewayError('upstream_error', 'The upstream provider failed to answer.')
    },
  })
  const asked = await failing.post(plainAsk, { 'anthropic-version': '2023-06-01' }, '/v1/messages/count_tokens')
  t.equal(asked.status, 502)
  const outcomes = new (class extends MemoryOutcomes {
    override async put(...[place, bytes, revision]: Parameters<MemoryOutcomes['put']>) {
      if (place.keyDigest !== 'usage' && decodeKeyRecord(bytes)?.record.state === 'answered') throw logUnavailable()
      return super.put(place, bytes, revision)
    }
  })()
  const videos = await startVideoEdge(t, { outcomes })
  t.equal((await videos.post(plainBody, { 'idempotency-key': 'scene-7' }, '/v1/videos')).status, 503)
  t.equal(videos.holds().length, 1)
  for (const { log, stop } of [failing, videos]) {
    await stop()
    t.same(countsIn(log), [])
  }
})
