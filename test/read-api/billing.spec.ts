import t from 'tap'
import type { AtSequence } from '../../src/projections/checkpoint/queries.ts'
import type { Billing } from '../../src/read-api/read-models.ts'
import { errorOf, secret, startEdge, workspaceId } from '../roles/edge/edge-fixture.ts'

const headers = { authorization: `Bearer ${secret}` }
const billing: Billing = {
  creditsPicos: 123_456_789_012_345_678_901n,
  chargedPicos: 12_345_678_901_234_567n,
  adjustmentsPicos: 1_000_000_000_001n,
  usageAdjustmentsPicos: 1n,
  feesPicos: 0n,
  lapsedPicos: 0n,
  creditLimitPicos: 1_000_000_000_000n,
  subscription: null,
}

t.test('sums are exact to the last digit, at both paths', async (t) => {
  const asked: string[] = []
  const findBilling = async (workspace: string): Promise<AtSequence<Billing>> => {
    asked.push(workspace)
    return { sequence: 1234, value: billing }
  }
  const { url } = await startEdge(t, { readModels: { findBilling } })
  for (const prefix of ['/v1', '']) {
    const usage = await fetch(`${url}${prefix}/dashboard/billing/usage?start_date=2026-01-01`, { headers })
    t.equal(await usage.text(), '{"object":"list","total_usage":1234567.8901234566}')
    const subscription = await fetch(`${url}${prefix}/dashboard/billing/subscription`, { headers })
    t.equal(
      await subscription.text(),
      '{"object":"billing_subscription","has_payment_method":true,"soft_limit_usd":123456791.012345678901,' +
        '"hard_limit_usd":123456791.012345678901,"system_hard_limit_usd":123456791.012345678901,"access_until":0}',
    )
    t.equal(subscription.headers.get('content-type'), 'application/json')
    for (const answer of [usage, subscription]) t.match(answer.headers.get('x-gateway-ledger-sequence'), /^[\w-]{56}$/)
  }
  t.same([...new Set(asked)], [workspaceId])
})

t.test('a plan is told with its end; what it cost and what lapsed is no usage, and is not left either', async (t) => {
  const value: Billing = {
    ...billing,
    creditsPicos: 100_000_000_000_000n,
    chargedPicos: 10_000_000_000_000n,
    adjustmentsPicos: 0n,
    usageAdjustmentsPicos: 0n,
    feesPicos: 20_000_000_000_000n,
    lapsedPicos: 5_000_000_000_000n,
    subscription: {
      subscriptionId: 'sub_1',
      workspaceId,
      terms: { planId: 'pro', name: 'Pro "plus"', price: '20', period: 'month', includedCredit: '5', limits: {} },
      startsAtMs: Date.parse('2026-11-21T00:00:00.000Z'),
      expiresAtMs: Date.parse('2026-12-21T00:00:00.750Z'),
      anchorDay: 21,
      renews: true,
    },
  }
  const { url } = await startEdge(t, { readModels: { findBilling: async () => ({ sequence: 1, value }) } })
  const read = async <T>(what: string): Promise<T> =>
    (await fetch(`${url}/v1/dashboard/billing/${what}`, { headers })).json() as Promise<T>
  const subscription = await read<{ hard_limit_usd: number }>('subscription')
  t.match(subscription, {
    hard_limit_usd: 76,
    access_until: 1_797_811_200,
    plan: { id: 'pro', title: 'Pro "plus"' },
  })
  const usage = await read<{ total_usage: number }>('usage')
  t.equal(subscription.hard_limit_usd - usage.total_usage / 100, 66, 'what is left')
})

t.test('a workspace that the tables do not have yet has spent nothing', async (t) => {
  const { url } = await startEdge(t)
  const usage = await fetch(`${url}/v1/dashboard/billing/usage`, { headers })
  t.same(await usage.json(), { object: 'list', total_usage: 0 })
})

t.test('it takes a key', async (t) => {
  const { url } = await startEdge(t)
  t.equal((await fetch(`${url}/v1/dashboard/billing/usage`)).status, 401)
  t.equal((await fetch(`${url}/dashboard/billing/subscription`)).status, 401)
})

t.test('with the tables away: 503, and when to come again', async (t) => {
  const readModels = { findBilling: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1')) }
  const { url } = await startEdge(t, { readModels })
  const response = await fetch(`${url}/v1/dashboard/billing/usage`, { headers })
  t.match(response.headers.get('retry-after'), /^[1-9][0-9]*$/)
  const error = await errorOf(response)
  t.match({ status: response.status, ...error }, { status: 503, type: 'api_error', code: 'read_models_unavailable' })
  t.notMatch(error.message, '10.0.0.1')
})
