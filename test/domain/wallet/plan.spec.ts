import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet, type WalletCommand } from '../../../src/domain/wallet/decide.ts'
import type { PlanCommand } from '../../../src/domain/wallet/decide-plan.ts'
import { applyCharge, applyToWallet, type Movement, type WalletFact } from '../../../src/domain/wallet/evolve.ts'
import { availablePicos, balancePicos, initialWallet, type Wallet } from '../../../src/domain/wallet/wallet.ts'
import type { PlanPublished } from '../../../src/events/types.ts'

const asker = { keyId: 'key-1', day: '2026-11-21' }

const startsAtMs = Date.parse('2027-01-31T10:00:00.000Z')
const firstEnd = '2027-02-28T10:00:00.000Z'
const secondEnd = '2027-03-31T10:00:00.000Z'

const plan = (changes: Partial<PlanPublished> = {}): PlanPublished => ({
  planId: 'pro',
  name: 'Pro',
  price: '20',
  period: 'month',
  includedCredit: '5',
  limits: { requestsPerMinute: 60 },
  ...changes,
})

const credited = (amount: string, reference = 'invoice-1', expiresAt?: string): WalletFact => ({
  type: 'WalletCredited',
  data: { workspaceId: 'acme', amount, reference, note: '', ...(expiresAt === undefined ? {} : { expiresAt }) },
})
const held = (holdId: string, amount: string): WalletFact => ({
  type: 'HoldPlaced',
  data: { holdId, workspaceId: 'acme', purpose: 'allowance', amount, deadline: firstEnd, owner: 'edge-1' },
})
const released = (holdId: string): WalletFact => ({
  type: 'HoldReleased',
  data: { holdId, workspaceId: 'acme', reason: 'returned' },
})

const given = (...facts: readonly WalletFact[]): Wallet => {
  const wallet = initialWallet('acme')
  for (const fact of facts) applyToWallet(wallet, fact)
  return wallet
}

/** What a command adds, applied; or why it adds nothing. */
const run = (wallet: Wallet, command: WalletCommand): readonly WalletFact['type'][] | string => {
  const decision = decideWallet(command, wallet)
  if ('refused' in decision) return decision.refused.reason
  for (const fact of decision.facts) applyToWallet(wallet, fact)
  return decision.facts.map(({ type, data }) => ('reason' in data ? `${type} ${data.reason}` : type)) as never
}

const subscribe = (changes: Partial<PlanCommand & { type: 'Subscribe' }> = {}): PlanCommand => ({
  type: 'Subscribe',
  subscriptionId: 'sub_1',
  terms: plan(),
  startsAtMs,
  renews: true,
  again: true,
  ...changes,
})
const endPeriod = (expiresAt: string, terms = plan()): PlanCommand => ({
  type: 'EndPeriod',
  subscriptionId: 'sub_1',
  expiresAtMs: Date.parse(expiresAt),
  terms,
})

const figures = (wallet: Wallet) => ({
  balance: formatUsd(balancePicos(wallet)),
  available: formatUsd(availablePicos(wallet)),
  fees: formatUsd(wallet.feesPicos),
  grants: wallet.grants.map(({ remainingPicos }) => formatUsd(remainingPicos)).join(' '),
})

const told = (movements: readonly Movement[]) =>
  movements.map(({ kind, amountPicos, reference }) => `${kind} ${formatUsd(amountPicos)} ${reference}`)

t.test('a subscription is paid for, and its credit given, in one', async (t) => {
  const wallet = given(credited('20'))
  const decision = decideWallet(subscribe(), wallet)
  t.match(decision, {
    facts: [
      {
        type: 'PlanSubscribed',
        data: { subscriptionId: 'sub_1', startsAt: '2027-01-31T10:00:00.000Z', expiresAt: firstEnd, renews: true },
      },
    ],
  })
  if ('refused' in decision) return
  const [fact] = decision.facts
  t.same(told(applyToWallet(wallet, fact!)), [
    'fee -20 sub_1@2027-01-31T10:00:00.000Z',
    'credit 5 sub_1@2027-01-31T10:00:00.000Z',
  ])
  t.same(figures(wallet), { balance: '5', available: '5', fees: '20', grants: '5' })
  t.match(wallet.subscription, { subscriptionId: 'sub_1', terms: plan(), renews: true, anchorDay: 31 })
  t.same(applyToWallet(wallet, fact!), [], 'a repeat moves nothing')
})

t.test('a fee that is not covered is refused, and so is one that only held money would cover', async (t) => {
  t.match(decideWallet(subscribe(), given(credited('19.999999999999'))), {
    refused: { reason: 'insufficient', availablePicos: parseUsd('19.999999999999') },
  })
  t.equal(run(given(credited('30'), held('h1', '11')), subscribe()), 'insufficient')
  t.same(run({ ...given(), creditLimitPicos: parseUsd('20') }, subscribe()), ['PlanSubscribed'])
  t.same(run(given(), subscribe({ terms: plan({ price: '0' }) })), ['PlanSubscribed'], 'a free plan needs no money')
})

t.test('a credit that lapses pays for a plan while it stands, and not once its time is over', async (t) => {
  const lapsing = credited('20', 'promotion', '2027-01-31T10:00:00.000Z')
  t.same(run(given(lapsing), subscribe({ startsAtMs: startsAtMs - 1 })), ['PlanSubscribed'])
  t.equal(run(given(lapsing), subscribe()), 'insufficient')
  const both = given(lapsing, credited('20'), held('h1', '15'))
  t.same(run(both, subscribe()), ['PlanSubscribed'])
  t.same(figures(both), { balance: '25', available: '10', fees: '20', grants: '20 5' }, 'what is held of it stays')
})

t.test('the same subscription is made once, the same plan not again unless asked for', async (t) => {
  const wallet = given(credited('100'))
  t.same(run(wallet, subscribe()), ['PlanSubscribed'])
  t.same(run(wallet, subscribe()), [])
  t.same(run(wallet, subscribe({ subscriptionId: 'sub_2', again: false })), [])
  t.equal(run(wallet, subscribe({ terms: plan({ planId: 'max' }) })), 'subscription_differs')
  t.same(figures(wallet), { balance: '85', available: '85', fees: '20', grants: '5' })
  t.same(run(wallet, subscribe({ subscriptionId: 'sub_2' })), ['PlanEnded replaced', 'PlanSubscribed'])
  t.same(run(wallet, subscribe()), [], 'nor is one that has ended')
  t.same(figures(wallet), { balance: '70', available: '70', fees: '40', grants: '5' })
})

t.test('another plan ends the one before, what is left of whose credit is spent on its fee first', async (t) => {
  const wallet = given(credited('100'))
  run(wallet, subscribe())
  const max = subscribe({ subscriptionId: 'sub_2', terms: plan({ planId: 'max', price: '50' }), again: false })
  t.same(run(wallet, max), ['PlanEnded replaced', 'PlanSubscribed'])
  t.match(wallet.subscription, { subscriptionId: 'sub_2', terms: { planId: 'max' } })
  t.same(figures(wallet), { balance: '40', available: '40', fees: '70', grants: '5' })
})

t.test('a period is renewed once, on the terms of then', async (t) => {
  const wallet = given(credited('100'))
  run(wallet, subscribe())
  t.same(run(wallet, endPeriod(secondEnd)), [], 'that period has not begun')
  t.same(run(wallet, endPeriod(firstEnd, plan({ price: '30', name: 'Pro 2' }))), ['PlanRenewed'])
  t.same(run(wallet, endPeriod(firstEnd)), [], 'another scheduler comes too late')
  t.match(wallet.subscription, {
    terms: { name: 'Pro 2', price: '30' },
    startsAtMs: Date.parse(firstEnd),
    expiresAtMs: Date.parse(secondEnd),
  })
  t.equal(formatUsd(wallet.feesPicos), '50')
})

t.test('a renewal is not paid with the credit of the period before, whether that has lapsed yet or not', async (t) => {
  const wallet = given(credited('35'))
  run(wallet, subscribe())
  t.equal(formatUsd(availablePicos(wallet)), '20')
  t.same(run(wallet, endPeriod(firstEnd)), ['PlanEnded unpaid'])
  t.equal(wallet.subscription, null)
  t.same(figures(wallet), { balance: '20', available: '20', fees: '20', grants: '5' })
})

t.test('a cancelled plan ends with its period', async (t) => {
  const wallet = given(credited('100'))
  t.equal(run(wallet, { type: 'CancelPlan' }), 'no_subscription')
  run(wallet, subscribe())
  t.same(run(wallet, { type: 'CancelPlan' }), ['PlanCancelled'])
  t.same(run(wallet, { type: 'CancelPlan' }), [])
  t.match(wallet.subscription, { renews: false })
  t.same(run(wallet, endPeriod(firstEnd)), ['PlanEnded expired'])
  t.equal(wallet.subscription, null)
})

t.test('months that follow days begin where those ended', async (t) => {
  const wallet = given(credited('100'))
  run(wallet, subscribe({ terms: plan({ period: 'day', price: '1' }) }))
  run(wallet, endPeriod('2027-02-01T10:00:00.000Z', plan({ price: '1' })))
  t.match(wallet.subscription, { expiresAtMs: Date.parse('2027-03-01T10:00:00.000Z'), anchorDay: 1 })
})

const soon = '2027-02-01T00:00:00.000Z'
const later = '2027-03-01T00:00:00.000Z'
const lapse = (reference: string): WalletCommand => ({ type: 'LapseCredit', reference })

t.test('charges spend what lapses first, then what lapses later, then what lasts', async (t) => {
  const wallet = given(credited('10'), credited('3', 'b', later), credited('2', 'a', soon))
  applyCharge(wallet, 'r1', parseUsd('1'), parseUsd('1'), null, asker)
  t.equal(figures(wallet).grants, '1 3')
  applyCharge(wallet, 'r2', parseUsd('3'), parseUsd('2'), null, asker)
  t.equal(figures(wallet).grants, '1')
  applyCharge(wallet, 'r3', parseUsd('4'), parseUsd('4'), null, asker)
  t.match(figures(wallet), { grants: '', balance: '7' })
  t.same(run(wallet, lapse('b')), [], 'what is spent does not lapse')
})

t.test('a credit lapses but for what is held; the rest once the hold has ended', async (t) => {
  const wallet = given(credited('10'), credited('5', 'a', soon), held('h1', '3'))
  t.match(decideWallet(lapse('a'), wallet), {
    facts: [{ type: 'CreditExpired', data: { reference: 'a', amount: '2' } }],
  })
  t.same(run(wallet, lapse('a')), ['CreditExpired'])
  t.same(run(wallet, lapse('a')), [])
  t.same(figures(wallet), { balance: '13', available: '10', fees: '0', grants: '3' })
  applyCharge(wallet, 'r1', parseUsd('1'), parseUsd('1'), 'h1', asker)
  applyToWallet(wallet, released('h1'))
  t.same(run(wallet, lapse('a')), ['CreditExpired'])
  t.same(figures(wallet), { balance: '10', available: '10', fees: '0', grants: '' })
  t.equal(formatUsd(wallet.lapsedPicos), '4')
})

t.test('never more lapses than is available', async (t) => {
  const wallet = given(credited('5', 'a', soon), {
    type: 'AdjustmentPosted',
    data: { adjustmentId: 'x', workspaceId: 'acme', amount: '-3', reason: 'reconciliation', corrects: 'r', note: '' },
  })
  t.same(figures(wallet), { balance: '2', available: '2', fees: '0', grants: '5' }, 'an adjustment leaves grants alone')
  t.same(run(wallet, lapse('a')), ['CreditExpired'])
  t.same(figures(wallet), { balance: '0', available: '0', fees: '0', grants: '3' })
})
