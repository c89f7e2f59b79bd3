import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { natsLimits } from '../../../src/adapters/nats/limits.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import { until } from '../../support/clients.ts'
import { LossyProxy } from './lossy-proxy.ts'
import { adjustment, adjustmentIdsOf, bill, hold, openOn, openThroughLossy, readAll } from './open.ts'
import { NatsServer } from './server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

t.test('a thousand concurrent appends travel in far fewer frames and can be read in order', async (t) => {
  const opened = await openOn(server, { name: 'GROUP' })
  t.teardown(opened.close)
  const ids = numbers(1000).map((index) => `adjustment-${index}`)
  const appended = await Promise.all(ids.map((id) => opened.log.append([adjustment(id)])))
  const frames = await readAll(opened.log)
  t.ok(frames.length < 20, `${frames.length} frames`)
  t.same(frames.flatMap(adjustmentIdsOf), ids)
  t.same(
    frames.flatMap((frame) => frame.events.map(() => frame.sequence)),
    appended.map(({ sequence }) => sequence),
    'every appender is answered with the sequence of its frame',
  )
  t.same(
    frames.map(({ counter }) => counter),
    numbers(frames.length).map((index) => index + 1),
    'counters are dense from 1',
  )
  t.ok(frames.every(({ writer, walletSubject }) => writer === opened.log.writer && walletSubject === null))
  t.equal(opened.log.oldestUnacknowledgedMs(), 0)
})

t.test('where many append, a frame is filled over two turns of the event loop', async (t) => {
  const opened = await openOn(server, { name: 'TURNS' })
  t.teardown(opened.close)
  const appendOverTurns = async (countsOfTurns: readonly number[]): Promise<readonly number[]> => {
    const before = await opened.log.lastSequence()
    const appended: Promise<unknown>[] = []
    for (const count of countsOfTurns) {
      for (const index of numbers(count)) appended.push(opened.log.append([bill(`request-${index}`)]))
      await nextTurn()
    }
    await Promise.all(appended)
    return (await readAll(opened.log)).slice(before).map(({ events }) => events.length)
  }
  const { frameGatheredEventsMin: many, frameGatheredEventsMax: full } = natsLimits
  t.same(await appendOverTurns([many, 3]), [many + 3], 'what is appended in the next turn is in it')
  t.same(await appendOverTurns([many - 1, 3]), [many - 1, 3], 'few are sent at once')
  t.same(await appendOverTurns([full, 3]), [full, 3], 'so is a frame that is full')
})

t.test('an event carries its envelope', async (t) => {
  const opened = await openOn(server, { name: 'ENVELOPE', clock: () => Date.parse('2025-03-01T12:00:00Z') })
  t.teardown(opened.close)
  await opened.log.append([bill('request-1')])
  const [frame] = await readAll(opened.log)
  const event = frame?.events[0]
  t.match(event, {
    specversion: '1.0',
    id: /^[0-9a-f-]{36}$/,
    source: `/gateway/edge/${opened.log.writer}`,
    type: 'UsageRecorded',
    time: '2025-03-01T12:00:00.000Z',
    subject: 'acme',
    dataschema: 'events/UsageRecorded.v1.json',
  })
  t.same(event?.data, bill('request-1').data)
})

t.test('an append that is at fault is rejected, and the others are stored', async (t) => {
  const opened = await openOn(server, { name: 'FAULTS' })
  t.teardown(opened.close)
  const wrong: Fact = { type: 'AdjustmentPosted', data: { ...adjustment('x').data, amount: '1,5' } }
  const large = numbers(natsLimits.frameEventsMax + 1).map((index) => adjustment(`a-${index}`))
  const results = await Promise.allSettled([
    opened.log.append([adjustment('before')]),
    opened.log.append([adjustment('with-wrong'), wrong]),
    opened.log.append(large),
    opened.log.append([]),
    opened.log.append(numbers(natsLimits.frameEventsMax).map(() => bill('r'.repeat(64)))),
    opened.log.appendToWallet('not a token', [hold('h')], 0),
    opened.log.postToWallet('acme', [hold('h'), hold('i', 'beta')]),
    opened.log.append([adjustment('after')]),
  ])
  const reasons = results.map((result) => (result.status === 'rejected' ? result.reason.message : 'stored'))
  t.match(reasons, [
    'stored',
    /^AdjustmentPosted does not follow its schema: amount must be a decimal number/,
    /513 events .* does not fit into one frame/,
    'an append without facts',
    /512 events and \d+ bytes does not fit into one frame/,
    /cannot be a subject's last token/,
    'a HoldPlaced of another workspace on the wallet of acme',
    'stored',
  ])
  t.same((await readAll(opened.log)).flatMap(adjustmentIdsOf), ['before', 'after'])
})

t.test('a frame whose acknowledgement is lost is sent again under its id and stands once', async (t) => {
  const { proxy, opened, beside: witness } = await openThroughLossy(t, server, { name: 'LOSTACK' })
  proxy.dropReplies()
  const appended = opened.log.append([adjustment('once')])
  await until(async () => (await witness.log.lastSequence()) === 1)
  await until(() => opened.log.oldestUnacknowledgedMs() > 0)
  proxy.cut()
  proxy.passReplies()
  t.same(await appended, { sequence: 1 })
  t.same(await opened.log.append([adjustment('next')]), { sequence: 2 })
  t.same((await readAll(witness.log)).map(adjustmentIdsOf), [['once'], ['next']])
  t.same(opened.fatal, [])
})

t.test('a frame whose acknowledgement only comes late is sent again after the time-out and stands once', async (t) => {
  const proxy = await LossyProxy.create(server.port)
  const opened = await openOn(server, { name: 'LATEACK', url: proxy.url })
  t.teardown(async () => {
    await opened.close()
    await proxy.close()
  })
  proxy.holdReplies()
  const appended = opened.log.append([adjustment('once')])
  await until(() => opened.log.oldestUnacknowledgedMs() > natsLimits.frameAckMs + natsLimits.frameRetryMs * 2)
  proxy.passReplies()
  t.same(await appended, { sequence: 1 })
  t.same((await readAll(opened.log)).map(adjustmentIdsOf), [['once']])
})

t.test('a duplicate on the first send is fatal', async (t) => {
  const newId = () => {
    const fixed = ['writer-of-both', 'wallet-writer']
    return () => fixed.shift() ?? 'event'
  }
  const first = await openOn(server, { name: 'REUSED', newId: newId() })
  t.teardown(first.close)
  const second = await openOn(server, { name: 'REUSED', newId: newId() })
  t.teardown(second.close)
  await first.log.append([adjustment('mine')])
  await t.rejects(second.log.append([adjustment('lost')]), { name: 'ReusedFrameId' })
  t.match(second.fatal, [{ message: /writer-of-both:1 was a duplicate when it was first sent/ }])
  await t.rejects(second.log.append([adjustment('later')]), { code: 'log_unavailable' })
})

t.test('without a server appends wait up to a bound, and are rejected by the close', async (t) => {
  const proxy = await LossyProxy.create(server.port)
  const opened = await openOn(server, { name: 'AWAY', url: proxy.url })
  t.teardown(async () => {
    await opened.connection.close()
    await proxy.close()
  })
  proxy.refuse()
  proxy.cut()
  const facts = numbers(natsLimits.frameEventsMax).map((index) => adjustment(`a-${index}`))
  const fitting = Math.floor(natsLimits.appendQueueEventsMax / natsLimits.frameEventsMax)
  const appends = numbers(fitting).map(() => opened.log.append(facts))
  const settled = Promise.allSettled(appends)
  await t.rejects(opened.log.append(facts), { code: 'log_unavailable', message: /Too many events wait/ })
  await until(() => opened.log.oldestUnacknowledgedMs() > 50)
  await opened.log.close(50)
  const results = await settled
  t.ok(results.every((result) => result.status === 'rejected' && result.reason instanceof GatewayError))
  await t.rejects(opened.log.append([adjustment('x')]), { code: 'log_unavailable' })
  await t.rejects(opened.log.lastSequence(), { code: 'log_unavailable' })
})

t.test('the close waits for what is under way', async (t) => {
  const opened = await openOn(server, { name: 'CLOSING' })
  t.teardown(() => opened.connection.close())
  const appends = numbers(2000).map((index) => opened.log.append([adjustment(`a-${index}`)]))
  const all = Promise.all(appends)
  await opened.log.close(5_000)
  t.equal((await all).length, 2000)
})
