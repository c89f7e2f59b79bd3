import t from 'tap'
import type { AtSequence } from '../../../../src/read-models/checkpoint.ts'
import type { Billing } from '../../../../src/roles/edge/read-models.ts'
import { errorOf, secret, startEdge, workspaceId } from '../edge-fixture.ts'

const headers = { authorization: `Bearer ${secret}` }
const billing: Billing = {
  creditsPicos: 123_456_789_012_345_678_901n,
  chargedPicos: 12_345_678_901_234_567n,
  adjustmentsPicos: 1n,
  creditLimitPicos: 1_000_000_000_000n,
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
      '{"object":"billing_subscription","has_payment_method":true,"soft_limit_usd":123456790.012345678901,' +
        '"hard_limit_usd":123456790.012345678901,"system_hard_limit_usd":123456790.012345678901,"access_until":0}',
    )
    t.equal(subscription.headers.get('content-type'), 'application/json')
    for (const answer of [usage, subscription]) t.equal(answer.headers.get('x-gateway-ledger-sequence'), '1234')
  }
  t.same([...new Set(asked)], [workspaceId])
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
