import t, { type Test } from 'tap'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import type { Dispatch, RoutedRequest } from '../../../src/roles/dispatch.ts'
import { type CallSource, proxy, type ServedCalls } from '../../../src/roles/proxy/role.ts'
import { passing } from '../../../src/runtime/health.ts'
import { until } from '../../support/clients.ts'
import { silentLogger } from '../../support/log-lines.ts'
import {
  type Bench,
  billOf,
  callOf,
  failureOf,
  type Heard,
  hear,
  onlyFact,
  providerKey,
  startBench,
  stay,
} from './forwarding.ts'

/** As a transport over a network does, its stop waits for the end of every call that it took. */
class TestCalls implements CallSource {
  readonly #taken: Promise<Heard>[] = []
  #dispatch: Dispatch | null = null

  serve(dispatch: Dispatch): ServedCalls {
    this.#dispatch = dispatch
    return {
      stop: async () => {
        await Promise.all(this.#taken)
      },
      check: passing,
      giveUp: () => undefined,
    }
  }

  readonly dispatch: Dispatch = (call, clientGone) => {
    if (this.#dispatch === null) throw new Error('nobody serves')
    return this.#dispatch(call, clientGone)
  }

  take(call: RoutedRequest): Promise<Heard> {
    const heard = hear(this.dispatch(call, stay()))
    this.#taken.push(heard)
    return heard
  }
}

interface RunningProxy extends Bench {
  readonly calls: TestCalls
  readonly stop: () => Promise<void>
}

const startProxy = async (
  t: Test,
  bounds: { readonly drainMs?: number; readonly closingAckMs?: number } = {},
): Promise<RunningProxy> => {
  const bench = await startBench(t)
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  const calls = new TestCalls()
  const baseUrl = bench.sandbox.url
  const running = await proxy.start({
    log: bench.log,
    http,
    clock: Date.now,
    logger: silentLogger,
    providers: new Map([
      ['openai', { name: 'openai', dialect: 'openai', profile: 'openai', baseUrl, apiKey: providerKey }],
    ]),
    vendors: new Map(),
    calls,
    ...bounds,
  })
  return { ...bench, calls, stop: () => running.stop() }
}

const upstreamIsAsked = ({ sandbox }: Bench): Promise<void> => until(() => sandbox.calls().length > 0)

const upstreamIsCancelled = async (t: Test, { sandbox }: Bench): Promise<void> => {
  await until(() => sandbox.totals().open === 0)
  t.match(sandbox.totals(), { cancelled: 1, completed: 0 })
}

t.test('the manifest', async (t) => {
  t.strictSame([proxy.name, proxy.emits], ['proxy', ['UsageRecorded', 'RequestFailed']])
})

t.test('a proxy that stops finishes what is in flight', async (t) => {
  const running = await startProxy(t)
  const answer = running.calls.take(callOf('openai/a;chunk_delay_ms=20', { stream: true }))
  await upstreamIsAsked(running)
  await running.stop()
  t.match(billOf(t, running), { outcome: 'completed' })
  t.match((await answer).text, /DONE/)
})

t.test('a proxy without calls stops at once', async (t) => {
  const running = await startProxy(t, { drainMs: 60_000 })
  await running.stop()
  t.same(running.log.events, [])
})

t.test('what outlives the drain and has not answered is free', async (t) => {
  for (const stream of [false, true]) {
    const running = await startProxy(t, { drainMs: 50 })
    const answer = running.calls.take(callOf(['openai/a;hang=1', 'openai/b'], { stream }))
    await upstreamIsAsked(running)
    await running.stop()
    t.match(failureOf(t, running), {
      status: 503,
      reason: 'no_available_channel',
      attempts: [{ outcome: 'failed', reason: 'shutdown' }],
    })
    const { head, error } = await answer
    t.equal(head, null)
    t.match(error, { code: 'no_available_channel', retryAfterSeconds: 1 })
    await upstreamIsCancelled(t, running)
  }
})

t.test('a stream that outlives the drain is billed as far as it was delivered', async (t) => {
  const running = await startProxy(t, { drainMs: 100 })
  const answer = running.calls.take(callOf('openai/a;hang_after=3', { stream: true }))
  await until(() => (running.sandbox.calls()[0]?.chunksWritten ?? 0) >= 3)
  await running.stop()
  t.match(billOf(t, running), {
    outcome: 'interrupted',
    source: 'estimated',
    usage: { outputTotal: 3 },
    attempts: [{ outcome: 'served', reason: 'shutdown' }],
  })
  const { text, error } = await answer
  t.match(text, /said/)
  t.match(error, { code: 'upstream_stream_interrupted' })
  await upstreamIsCancelled(t, running)
})

t.test('a head alone is free', async (t) => {
  const running = await startProxy(t, { drainMs: 0 })
  const call = callOf('openai/a;profile=gemini;hang_after=3', { stream: true })
  const parts = running.calls.dispatch(call, stay())[Symbol.asyncIterator]()
  await parts.next()
  await running.stop()
  t.match(failureOf(t, running), { status: 503, reason: 'no_available_channel' })
  await t.rejects(parts.next(), { code: 'no_available_channel' })
})

t.test('a reader that has stopped reading keeps no proxy from its end', async (t) => {
  const running = await startProxy(t, { drainMs: 0 })
  const call = callOf('openai/a;hang_after=3', { stream: true })
  const parts = running.calls.dispatch(call, stay())[Symbol.asyncIterator]()
  await parts.next()
  await parts.next()
  await running.stop()
  t.match(billOf(t, running), { outcome: 'interrupted', source: 'estimated' })
  await t.rejects(parts.next(), { code: 'upstream_stream_interrupted' })
  t.equal(running.log.events.length, 1)
})

t.test('a call that comes when all is over is refused, and recorded', async (t) => {
  const running = await startProxy(t, { drainMs: 0 })
  const answer = running.calls.take(callOf('openai/a;hang=1'))
  await upstreamIsAsked(running)
  await running.stop()
  await answer
  const late = await running.calls.take(callOf('openai/b'))
  t.match(late.error, { code: 'no_available_channel' })
  t.match(running.log.events[1], { type: 'RequestFailed', data: { status: 503, attempts: [] } })
  t.equal(running.sandbox.calls().length, 1)
})

t.test('a whole answer whose bill is under way when the drain ends is given out', async (t) => {
  const running = await startProxy(t, { drainMs: 0 })
  running.log.stall()
  const answer = running.calls.take(callOf('openai/a'))
  await until(() => running.log.appended === 1)
  const stopped = running.stop()
  setTimeout(() => running.log.resume(), 50)
  await stopped
  t.match(billOf(t, running), { outcome: 'completed' })
  t.equal((await answer).error, null)
})

t.test('a log that takes no ends: the stop says so, and does not hang', async (t) => {
  const running = await startProxy(t, { drainMs: 0, closingAckMs: 50 })
  running.log.stall()
  const answer = running.calls.take(callOf('openai/a;hang_after=3', { stream: true }))
  await until(() => (running.sandbox.calls()[0]?.chunksWritten ?? 0) >= 3)
  await t.rejects(running.stop(), { message: /still in flight/ })
  t.match((await answer).error, { code: 'log_unavailable' })
  running.log.resume()
  await until(() => running.log.events.length > 0)
  t.match(onlyFact(t, running), { type: 'UsageRecorded', data: { outcome: 'interrupted' } })
})
