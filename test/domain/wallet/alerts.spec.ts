import t from 'tap'
import { applyFrame, findOrCreateWallet, initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { measureRules } from '../../../src/domain/wallet/alerts.ts'
import { decideWallet } from '../../../src/domain/wallet/decide.ts'
import { draftWallet } from '../../../src/domain/wallet/wallet.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import type { AlertRaised, AlertRuleSet } from '../../../src/events/types.ts'
import {
  adjusted,
  credited,
  failed,
  interruptedBy,
  invoiceReconciled,
  keyIssued,
  opened,
  routed,
  used,
  workspaceId,
} from '../../roles/projector/facts.ts'
import { MemoryLog } from '../../support/memory-log.ts'

/** A ledger that has what is said, at the times at which it is. */
const start = () => {
  let time = '2026-11-27T18:00:00.000Z'
  const log = new MemoryLog({ timeOf: () => time, checksSchemas: true })
  const ledger = initialLedger()
  const say = async (at: string, ...facts: readonly Fact[]) => {
    time = at
    for (const fact of facts) {
      await log.append([fact])
      applyFrame(ledger, log.frames.at(-1)!)
    }
  }
  const ask = (id: string, total: string, tags: Record<string, string> = {}, keyId = 'key-1'): readonly Fact[] => [
    routed(id, { tags, keyId, allowanceId: null }),
    used(id, { total, keyId }),
  ]
  const wallet = () => findOrCreateWallet(ledger, workspaceId)
  const at = (instant: string) =>
    Object.fromEntries(
      measureRules(wallet(), Date.parse(instant), ledger.reconciled).map(({ rule, ...rest }) => [rule.rule, rest]),
    )
  return { say, ask, wallet, at }
}

const ruleSet = (rule: string, more: Partial<AlertRuleSet> & Pick<AlertRuleSet, 'measure' | 'threshold'>): Fact => ({
  type: 'AlertRuleSet',
  data: { workspaceId, rule, destinations: ['ops'], ...more },
})
const raised = (data: AlertRaised | null | undefined): Fact => ({ type: 'AlertRaised', data: data! })

t.test('spend of a workspace, a key and a tag is that of the UTC day and month', async (t) => {
  const { say, ask, at } = start()
  await say('2026-11-26T23:00:00.000Z', opened(), credited('c-1'), keyIssued('key-1'), keyIssued('key-2'))
  await say('2026-11-26T23:30:00.000Z', ...ask('r-1', '1'))
  await say(
    '2026-11-27T10:00:00.000Z',
    ruleSet('day', { measure: 'spend_day', threshold: '2' }),
    ruleSet('month', { measure: 'spend_month', threshold: '100' }),
    ruleSet('key', { measure: 'spend_day', threshold: '2', keyId: 'key-2' }),
    ruleSet('tag', { measure: 'spend_month', threshold: '0.5', tag: 'team=search' }),
    ...ask('r-2', '1.5', { team: 'search' }),
    ...ask('r-3', '0.5', { team: 'ads' }, 'key-2'),
  )
  t.match(at('2026-11-27T10:00:01Z'), {
    day: { figure: '2', due: { alertId: 'acme:day:2026-11-27:2', period: '2026-11-27', figure: '2' } },
    month: { figure: '3', due: null },
    key: { figure: '0.5', due: null },
    tag: { figure: '1.5', due: { period: '2026-11', tag: 'team=search' } },
  })
  t.match(at('2026-12-01T00:00:00Z'), {
    day: { figure: '0' },
    month: { figure: '0' },
    key: { figure: '0' },
    tag: { figure: '0' },
  })
})

t.test('the balance, and how long what is available lasts', async (t) => {
  const { say, ask, at } = start()
  await say(
    '2026-11-01T00:00:00.000Z',
    opened(workspaceId, '0'),
    credited('c-1', '10'),
    ruleSet('balance', { measure: 'balance', threshold: '5' }),
    ruleSet('runway', { measure: 'runway_days', threshold: '3' }),
    ...ask('r-1', '4'),
  )
  t.match(at('2026-11-01T23:59:59Z'), { balance: { figure: '6', due: null }, runway: { figure: null, due: null } })
  t.match(at('2026-11-03T00:00:00Z'), { runway: { figure: '3', due: { period: '2026-11-03' } } }, '2 a day')
  await say('2026-11-03T00:00:00.000Z', adjusted('a-1', '-1'))
  t.match(at('2026-11-03T00:00:00Z'), { balance: { due: { figure: '5', threshold: '5' } } })
})

t.test('the error rate is that of an hour with enough requests', async (t) => {
  const { say, ask, at } = start()
  const failing = (id: string, status: number): readonly Fact[] => [
    routed(id, { allowanceId: null }),
    failed(id, { status }),
  ]
  const served = Array.from({ length: 17 }, (_, place) => ask(`ok-${place}`, '0')).flat()
  await say(
    '2026-11-27T18:10:00.000Z',
    opened(),
    ruleSet('errors', { measure: 'error_rate', threshold: '5' }),
    ...served,
    ...[routed('bad-1', { allowanceId: null }), used('bad-1', { total: '0', ...interruptedBy('network') })],
  )
  t.match(at('2026-11-27T18:59:59Z'), { errors: { figure: null } })
  await say('2026-11-27T18:20:00.000Z', ...failing('bad-2', 400), ...failing('bad-3', 504))
  t.match(at('2026-11-27T18:59:59Z'), { errors: { figure: '10', due: { period: '2026-11-27T18' } } })
  t.match(at('2026-11-27T19:00:00Z'), { errors: { figure: null } })
})

t.test('an alert is raised once in its period and for each threshold, and kept until it is delivered', async (t) => {
  const { say, ask, at, wallet } = start()
  const rule = { measure: 'spend_day', threshold: '1' } as const
  await say('2026-11-27T10:00:00.000Z', opened(), credited('c-1'), ruleSet('day', rule), ...ask('r-1', '3'))
  const { due } = at('2026-11-27T10:00:00Z')['day']!
  const raise = { type: 'RaiseAlert', alert: due! } as const
  t.match(decideWallet(raise, draftWallet(wallet())), { facts: [{ type: 'AlertRaised' }] })
  await say('2026-11-27T10:00:01.000Z', raised(due))
  t.same(decideWallet(raise, draftWallet(wallet())), { facts: [] })
  t.equal(at('2026-11-27T10:00:02Z')['day']?.due, null)
  await say('2026-11-27T10:00:02.000Z', ruleSet('day', { ...rule, threshold: '2' }))
  t.match(at('2026-11-27T10:00:02Z'), { day: { due: { threshold: '2' } } })
  await say('2026-11-28T09:00:00.000Z', ...ask('r-2', '2'))
  await say('2026-11-28T09:00:00.000Z', raised(at('2026-11-28T09:00:00Z')['day']?.due))
  const ids = () =>
    wallet()
      .alertRules.get('day')
      ?.alerts.map(({ alertId }) => alertId)
  t.same(ids(), ['acme:day:2026-11-27:1', 'acme:day:2026-11-28:2'])
  const delivered = (alertId: string): Fact => ({
    type: 'AlertDelivered',
    data: { workspaceId, rule: 'day', alertId, destination: 'ops' },
  })
  const failures = () =>
    wallet()
      .alertRules.get('day')
      ?.alerts.flatMap((alert) => alert.failures ?? [])
  const sent = { rule: 'day', alertId: 'acme:day:2026-11-28:2', destination: 'ops' }
  for (const [at, reason] of [
    ['2026-11-28T08:00:00.000Z', 'status 500'],
    ['2026-11-28T08:10:00.000Z', 'timeout'],
  ] as const) {
    const { facts } = decideWallet({ type: 'RecordAlertFailure', reason, ...sent }, draftWallet(wallet())) as {
      readonly facts: readonly Fact[]
    }
    t.match(facts, [{ type: 'AlertDeliveryFailed', data: { workspaceId, reason, ...sent } }])
    await say(at, ...facts)
    t.match(failures()?.at(-1), { destination: 'ops', reason, at })
    t.same(decideWallet({ type: 'RecordAlertFailure', reason, ...sent }, draftWallet(wallet())), { facts: [] })
  }
  const record = (reason: string, destination = 'ops') =>
    decideWallet({ type: 'RecordAlertFailure', ...sent, reason, destination }, draftWallet(wallet())) as {
      readonly facts: readonly Fact[]
    }
  t.same(record('status 500').facts, [], 'reasons that alternate are recorded once each')
  for (const reason of ['dns', 'refused', 'tls', 'reset'])
    await say('2026-11-28T08:20:00.000Z', ...record(reason).facts)
  t.same(
    failures()?.map(({ reason }) => reason),
    ['status 500', 'timeout', 'dns', 'refused', 'tls'],
    'and so many at most',
  )
  t.equal(record('reset', 'team').facts.length, 1)
  await say('2026-11-28T09:00:01.000Z', ...ids()!.map(delivered))
  t.same(ids(), ['acme:day:2026-11-28:2'], 'the last one is shown')
  await say('2026-11-28T09:00:02.000Z', { type: 'AlertRuleRemoved', data: { workspaceId, rule: 'day' } })
  t.equal(wallet().alertRules.size, 0)
  t.same(decideWallet(raise, draftWallet(wallet())), { facts: [] }, 'nothing is raised by a rule that is gone')
})

t.test('invoices that are unreconciled, once after each one that is recorded', async (t) => {
  const { say, at } = start()
  const recorded = (provider: string, unreconciled: string) => invoiceReconciled({ provider, unreconciled })
  const unreconciled = ruleSet('books', { measure: 'unreconciled', threshold: '10' })
  await say('2026-11-02T09:00:00.000Z', opened(), unreconciled)
  t.match(at('2026-11-02T09:00:00Z'), { books: { figure: null, due: null } })
  await say('2026-11-02T10:00:00.000Z', recorded('openai', '6.5'), recorded('google', '6'))
  const { due } = at('2026-11-05T00:00:00Z')['books']!
  t.match(due, { alertId: 'acme:books:2026-11-02:10:4', figure: '12.5' }, 'one that is recorded soon after hides none')
  await say('2026-11-02T11:00:00.000Z', raised(due))
  t.match(at('2026-12-05T00:00:00Z'), { books: { figure: '12.5', due: null } }, 'time alone raises none')
  await say('2026-11-02T12:00:00.000Z', recorded('google', '7'))
  const later = at('2026-11-02T12:00:00Z')['books']?.due
  t.match(later, { alertId: 'acme:books:2026-11-02:10:6', period: '2026-11-02', figure: '13.5' }, 'on the same day too')
  await say('2026-11-02T12:00:01.000Z', raised(later))
  await say('2026-11-03T10:00:00.000Z', recorded('google', '4'))
  t.match(at('2026-11-03T10:00:00Z'), { books: { due: { alertId: 'acme:books:2026-11-03:10:8', figure: '10.5' } } })
  await say('2026-11-04T10:00:00.000Z', recorded('openai', '0'))
  t.match(at('2026-11-04T10:00:00Z'), { books: { figure: '4', due: null } })
})

t.test('an invoice takes the place of those of its provider whose days are within its own', async (t) => {
  const { say, at } = start()
  const recorded = (from: string, to: string, unreconciled: string, timezone = 'UTC') =>
    invoiceReconciled({ from: `2026-11-${from}`, to: `2026-11-${to}`, timezone, unreconciled })
  const figure = async (...invoices: readonly Fact[]) => {
    await say('2026-12-01T10:00:00.000Z', ...invoices)
    return at('2026-12-01T10:00:00Z')['books']?.figure
  }
  await say('2026-11-02T09:00:00.000Z', opened(), ruleSet('books', { measure: 'unreconciled', threshold: '10' }))
  t.equal(await figure(recorded('01', '07', '2'), recorded('01', '14', '2')), '2', 'a month that grows')
  t.equal(await figure(recorded('01', '30', '3', 'Asia/Shanghai')), '3', 'in another timezone too')
  t.equal(await figure(recorded('01', '30', '0')), '0', 'what was mended is gone')
  t.equal(await figure(recorded('20', '30', '1'), recorded('10', '25', '1')), '2', 'days that overlap in part')
  t.equal(await figure(invoiceReconciled({ provider: 'google', from: '2026-11-01', to: '2026-11-30' })), '4')
})
