import { formatUsd } from '../domain/money.ts'
import type { Subscription } from '../domain/plans/subscription.ts'
import { type HttpContext, type HttpMiddleware, keyOfContext } from '../http/context.ts'
import type { Billing, EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'

const centsPerUsd = 100n
const msPerSecond = 1_000
const nothing: Billing = {
  creditsPicos: 0n,
  chargedPicos: 0n,
  adjustmentsPicos: 0n,
  usageAdjustmentsPicos: 0n,
  feesPicos: 0n,
  lapsedPicos: 0n,
  creditLimitPicos: 0n,
  subscription: null,
}

const billingOf = async (ctx: HttpContext, readModels: EdgeReadModels): Promise<Billing> =>
  (await readTables(ctx, readModels.findBilling(keyOfContext(ctx).workspaceId))) ?? nothing

/** Amounts are sent as exact decimals: a JSON number may have more digits than a float holds. */
const sendJson = (ctx: HttpContext, text: string): void => {
  ctx.set('Content-Type', 'application/json')
  ctx.body = text
}

/** In units of 0.01 USD. */
const centsText = (picos: bigint): string => formatUsd(picos * centsPerUsd)

/** GET /v1/dashboard/billing/usage: the cost of the workspace's requests so far, after their corrections, without fees of plans. */
export const showBillingUsage =
  (readModels: EdgeReadModels): HttpMiddleware =>
  async (ctx) => {
    const { chargedPicos, usageAdjustmentsPicos } = await billingOf(ctx, readModels)
    sendJson(ctx, `{"object":"list","total_usage":${centsText(chargedPicos - usageAdjustmentsPicos)}}`)
  }

/** `access_until` is in seconds since the epoch. */
const planText = (subscription: Subscription | null): string => {
  if (subscription === null) return '"access_until":0'
  const { expiresAtMs, terms } = subscription
  const plan = JSON.stringify({ id: terms.planId, title: terms.name })
  return `"access_until":${Math.floor(expiresAtMs / msPerSecond)},"plan":${plan}`
}

const limitPicos = (billing: Omit<Billing, 'subscription'>): bigint => {
  const { creditsPicos, adjustmentsPicos, usageAdjustmentsPicos, feesPicos, lapsedPicos, creditLimitPicos } = billing
  return creditsPicos + adjustmentsPicos - usageAdjustmentsPicos - feesPicos - lapsedPicos + creditLimitPicos
}

/** GET /v1/dashboard/billing/subscription: the limit is the balance plus what was spent on requests. */
export const showBillingSubscription =
  (readModels: EdgeReadModels): HttpMiddleware =>
  async (ctx) => {
    const { subscription, ...billing } = await billingOf(ctx, readModels)
    const limit = formatUsd(limitPicos(billing))
    sendJson(
      ctx,
      `{"object":"billing_subscription","has_payment_method":true,"soft_limit_usd":${limit},` +
        `"hard_limit_usd":${limit},"system_hard_limit_usd":${limit},${planText(subscription)}}`,
    )
  }
