import t, { type Test } from 'tap'
import { findOrCreateWallet, initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { availablePicos, balancePicos } from '../../../src/domain/wallet/wallet.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { DueWallets } from '../../../src/roles/scheduler/due-wallets.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { until } from '../../support/clients.ts'
import { silentLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import {
  creditExpired,
  credited,
  creditedUntil,
  holdPlaced,
  holdReleased,
  planCancelled,
  planPublished,
  planSubscribed,
  routed,
  used,
  workspaceId,
} from '../projector/facts.ts'

const days = ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31'] as const
const noonMs = (day: string): number => Date.parse(`${day}T12:00:00Z`)
const firstPeriod = [days[0], days[1]] as const

/** A workspace's log, and schedulers that all see one clock, which stands until a test moves it. */
const world = async (t: Test, ...facts: readonly Fact[]) => {
  const log = new MemoryLog()
  await log.append([planPublished('pro')])
  await log.postToWallet(workspaceId, facts)
  const time = { nowMs: noonMs(days[0]) }
  const tailOf = async (): Promise<LedgerTail> => {
    const tail = new LedgerTail(initialLedger(), log)
    t.teardown(() => tail.stop())
    await tail.waitForSequence(log.frames.length)
    return tail
  }
  const start = async (): Promise<void> => {
    const running = await scheduler.start({
      ...{ log, tail: await tailOf(), sealing: null, logger: silentLogger },
      ...{ clock: () => time.nowMs, steadyClock: () => time.nowMs, requestDeadlineMs: sharedLimits.requestDeadlineMs },
    })
    t.teardown(() => running.stop())
  }
  const tail = await tailOf()
  const said = (): readonly string[] =>
    log.frames
      .slice(2)
      .flatMap(({ events }) => events)
      .map(({ type, data }) => {
        if (type === 'PlanRenewed' && 'startsAt' in data) return `renewed ${data.startsAt.slice(0, 10)}`
        if (type === 'PlanEnded' && 'reason' in data) return `ended ${data.reason}`
        return type === 'CreditExpired' && 'amount' in data ? `lapsed ${data.amount}` : type
      })
  const figures = async () => {
    await tail.waitForSequence(log.frames.length)
    const wallet = findOrCreateWallet(tail.ledger, workspaceId)
    const { feesPicos, lapsedPicos } = wallet
    return {
      balance: formatUsd(balancePicos(wallet)),
      available: formatUsd(availablePicos(wallet)),
      fees: formatUsd(feesPicos),
      lapsed: formatUsd(lapsedPicos),
    }
  }
  return { log, tail, time, start, said, figures }
}

t.test('a period is renewed once though two schedulers run, and what is left of its credit lapses', async (t) => {
  const { time, start, said, figures } = await world(t, credited('invoice-1', '100'), planSubscribed('s', firstPeriod))
  await Promise.all([start(), start()])
  time.nowMs = noonMs(days[1]) - 1
  t.same(said(), [])
  time.nowMs += 1
  await until(() => said().length >= 2)
  time.nowMs = noonMs(days[2])
  await until(() => said().length >= 4)
  t.same(said(), ['lapsed 5', `renewed ${days[1]}`, 'lapsed 5', `renewed ${days[2]}`])
  t.same(await figures(), { balance: '45', available: '45', fees: '60', lapsed: '10' })
})

t.test(
  'a scheduler that was away takes every period in turn, each with its fee, as far as the money goes',
  async (t) => {
    const { time, start, said, figures } = await world(t, credited('invoice-1', '70'), planSubscribed('s', firstPeriod))
    time.nowMs = noonMs(days[4])
    await Promise.all([start(), start()])
    await until(() => said().includes('ended unpaid'))
    const renewals = [`renewed ${days[1]}`, 'lapsed 5', `renewed ${days[2]}`]
    t.same(said(), ['lapsed 5', ...renewals, 'lapsed 5', 'ended unpaid'])
    t.same(await figures(), { balance: '10', available: '10', fees: '60', lapsed: '15' })
  },
)

t.test('it is renewed on the terms of then; a cancelled one ends', async (t) => {
  const { log, time, tail, start, said } = await world(t, credited('a', '100'), planSubscribed('s', firstPeriod))
  await log.append([planPublished('pro', { price: '30', period: 'year' })])
  await start()
  time.nowMs = noonMs(days[1])
  await until(() => said().includes(`renewed ${days[1]}`))
  await tail.waitForSequence(log.frames.length)
  t.match(findOrCreateWallet(tail.ledger, workspaceId).subscription, {
    terms: { price: '30' },
    expiresAtMs: Date.parse('2027-02-28T12:00:00Z'),
  })
  await log.postToWallet(workspaceId, [planCancelled('s')])
  time.nowMs = Date.parse('2027-02-28T12:00:00Z')
  await until(() => said().includes('ended expired'))
})

t.test('what is held of a credit lapses once the hold has ended, and never what the hold has spent', async (t) => {
  const lapsing = creditedUntil('promotion', `${days[1]}T12:00:00Z`, '5')
  const { log, time, start, said, figures } = await world(t, lapsing, holdPlaced('h', '3'))
  await Promise.all([start(), start()])
  time.nowMs = noonMs(days[1])
  await until(() => said().length > 0)
  t.same(await figures(), { balance: '3', available: '0', fees: '0', lapsed: '2' })
  await log.append([routed('r', { allowanceId: 'h', reserved: '1' }), used('r', { allowanceId: 'h', total: '1' })])
  await log.postToWallet(workspaceId, [holdReleased('h')])
  await until(() => said().filter((each) => each.startsWith('lapsed')).length === 2)
  t.same(await figures(), { balance: '0', available: '0', fees: '0', lapsed: '4' })
})

t.test('a wallet is due when its time has come, and goes on to be until that is stored', async (t) => {
  const lapsing = creditedUntil('promotion', `${days[1]}T12:00:00Z`, '5')
  const { log, tail } = await world(
    t,
    lapsing,
    planSubscribed('s', [days[0], days[2]], { price: '0', includedCredit: '0' }),
  )
  const due = new DueWallets(tail)
  const at = (day: string, afterMs = 0) =>
    due.at(noonMs(day) + afterMs).flatMap(({ commands }) => commands.map(({ type }) => type))
  const tell = async (...facts: Fact[]): Promise<void> =>
    tail.waitForSequence((await log.postToWallet(workspaceId, facts)).sequence)
  t.same(at(days[1], -1), [])
  t.same(at(days[1]), ['LapseCredit'])
  t.same(at(days[1]), ['LapseCredit'], 'it was not stored')
  await tell(holdPlaced('h', '9'))
  t.same(at(days[1]), [], 'all of it is held')
  await tell(holdReleased('h'))
  t.same(at(days[1]), ['LapseCredit'])
  await tell(creditExpired('promotion', '5'))
  t.same(at(days[1]), [])
  t.same(at(days[2]), ['EndPeriod'])
  due.stop()
})
