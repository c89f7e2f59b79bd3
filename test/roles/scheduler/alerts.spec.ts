import t, { type Test } from 'tap'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { isSigned, startReceiver } from '../../support/receiver.ts'
import { credited, keyIssued, opened, routed, used, workspaceId } from '../projector/facts.ts'

const secret = `whsec_${Buffer.from('a-secret-of-a-test').toString('base64')}`

const start = async (t: Test) => {
  let nowMs = Date.now()
  const receiver = await startReceiver(t)
  const log = new MemoryLog({ timeOf: () => new Date(nowMs).toISOString(), checksSchemas: true })
  const destinations = new Map([
    ['ops', { type: 'webhook', url: `${receiver.url}/ops`, secret }],
    ['team', { type: 'slack', url: `${receiver.url}/team` }],
  ] as const)
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  const spend = (id: string, total: string) => log.append([routed(id, { allowanceId: null }), used(id, { total })])
  await log.postToWallet(workspaceId, [opened(), credited('c-1'), keyIssued('key-1')])
  const watch = (...destinationNames: string[]) => {
    const data = {
      workspaceId,
      rule: 'day',
      measure: 'spend_day',
      threshold: '1',
      destinations: destinationNames,
    } as const
    return log.postToWallet(workspaceId, [{ type: 'AlertRuleSet', data }])
  }
  const open = async (own: MemoryLog = log) => {
    const tail = new LedgerTail(initialLedger(), log)
    await tail.waitForSequence(await log.lastSequence())
    const logger = recordingLogger()
    const clock = () => nowMs
    const running = await scheduler.start({
      ...{ log: own, tail, sealing: null, clock, steadyClock: clock, logger },
      requestDeadlineMs: sharedLimits.requestDeadlineMs,
      alerting: { destinations: () => destinations, http, tickMs: 5 },
    })
    const stop = async () => {
      await running.stop()
      await tail.stop()
    }
    t.teardown(stop)
    return { stop, codes: () => logger.lines.map(({ event }) => event) }
  }
  const events = (type: Fact['type']) => log.events.filter((event) => event.type === type)
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { receiver, log, spend, watch, open, events, advance }
}

t.test('two schedulers raise one alert; it is signed, and raised again in the next day', async (t) => {
  const { receiver, spend, watch, open, events, advance } = await start(t)
  await watch('ops', 'team')
  await Promise.all([open(), open()])
  await spend('r-1', '1.25')
  await until(() => events('AlertDelivered').length === 2)
  t.equal(events('AlertRaised').length, 1)
  const [ops] = receiver.delivered.filter(({ path }) => path === '/ops')
  const [raised] = events('AlertRaised')
  t.match(raised?.data, { figure: '1.25', threshold: '1', measure: 'spend_day' })
  t.match(ops?.headers, { 'webhook-id': /^acme:day:[0-9-]{10}:1$/ })
  t.ok(await isSigned(ops!, secret))
  t.match(JSON.parse(ops!.body), {
    type: 'alert.raised',
    data: { workspace: workspaceId, rule: 'day', figure: '1.25', key_id: null },
  })
  t.match(
    receiver.delivered.filter(({ path }) => path === '/team').map(({ body }) => JSON.parse(body)),
    [{ text: /^acme: 1.25 USD were spent in the UTC day .*; the threshold of day is 1\.$/ }],
  )
  advance(86_400_000)
  await spend('r-2', '0.5')
  await spend('r-3', '0.5')
  await until(() => events('AlertDelivered').length === 4)
  t.equal(events('AlertRaised').length, 2)
  t.equal(receiver.delivered.length, 4, 'each was sent once')
})

t.test('what a scheduler sent and did not record before it was killed is sent again with the same id', async (t) => {
  const { receiver, log, spend, watch, open, events, advance } = await start(t)
  await watch('ops')
  const killed: MemoryLog = Object.create(log)
  killed.appendToWallet = (id, facts, expected) =>
    facts.some(({ type }) => type === 'AlertDelivered')
      ? new Promise(() => {})
      : log.appendToWallet(id, facts, expected)
  await open(killed)
  await spend('r-1', '2')
  await until(() => receiver.delivered.length === 1)
  await open()
  t.equal(events('AlertDelivered').length, 0)
  advance(schedulerLimits.alertTakeoverMs)
  await until(() => events('AlertDelivered').length === 1)
  t.equal(events('AlertRaised').length, 1)
  t.equal(new Set(receiver.delivered.map(({ headers }) => headers['webhook-id'])).size, 1)
  t.equal(receiver.delivered.length, 2)
})

t.test(
  'where the log cannot record a delivery, the scheduler goes on, and sends it again with the same id',
  async (t) => {
    const { receiver, log, spend, watch, open, events, advance } = await start(t)
    await watch('ops')
    const failing: MemoryLog = Object.create(log)
    let failures = 0
    failing.appendToWallet = (id, facts, expected) => {
      if (failures > 0 || !facts.some(({ type }) => type === 'AlertDelivered'))
        return log.appendToWallet(id, facts, expected)
      failures += 1
      return Promise.reject(new Error('no servers'))
    }
    const { codes } = await open(failing)
    await spend('r-1', '2')
    await until(() => codes().includes('alert.delivery_failed'))
    t.equal(events('AlertDelivered').length, 0)
    advance(schedulerLimits.alertRetryMs)
    await until(() => events('AlertDelivered').length === 1)
    t.equal(receiver.delivered.length, 2)
    t.equal(new Set(receiver.delivered.map(({ headers }) => headers['webhook-id'])).size, 1)
  },
)

t.test('a receiver that is down for an hour gets it afterwards; one that is down for a day does not', async (t) => {
  const { receiver, spend, watch, open, events, advance } = await start(t)
  await watch('ops')
  const { codes } = await open()
  receiver.answerWith(() => 503)
  await spend('r-1', '2')
  const failures = () => codes().filter((code) => code === 'alert.delivery_failed').length
  const goOn = async (forMs: number) => {
    const [stepMs, ticks] = [schedulerLimits.alertRetryMaxMs, forMs / schedulerLimits.alertRetryMaxMs]
    for (let tick = 0; tick < ticks; tick += 1) {
      const before = failures()
      advance(stepMs)
      await until(() => failures() > before || codes().includes('alert.given_up'))
    }
  }
  await until(() => failures() === 1)
  await goOn(3_600_000)
  t.same(events('AlertDelivered'), [])
  receiver.answerWith(() => 200)
  advance(schedulerLimits.alertRetryMaxMs)
  await until(() => events('AlertDelivered').length === 1)
  t.equal(new Set(receiver.delivered.map(({ headers }) => headers['webhook-id'])).size, 1)

  receiver.answerWith(() => 500)
  advance(86_400_000 - 3_600_000)
  await spend('r-2', '2')
  await until(() => events('AlertRaised').length === 2)
  advance(86_400_000 + 3_600_000)
  await until(() => codes().includes('alert.given_up'))
  t.equal(events('AlertDelivered').length, 1)
})
