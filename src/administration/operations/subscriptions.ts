import type { Subscription } from '../../domain/plans/subscription.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { AdminContext } from '../admin-context.ts'
import { type AdminOperation, defineOperation, type OperationInput } from '../operation.ts'
import { activeSubscription, cancelPlan, subscribe } from '../plan-changes.ts'
import type { SubscribeRequest } from '../requests.types.ts'
import type { SubscriptionResponse } from '../responses.types.ts'
import { renderTerms, termsRecord } from './plans.ts'

const renderSubscription = ({ subscriptionId, workspaceId, terms, ...period }: Subscription): SubscriptionResponse => ({
  object: 'subscription',
  id: subscriptionId,
  workspace: workspaceId,
  plan: terms.planId,
  ...renderTerms(terms),
  starts_at: new Date(period.startsAtMs).toISOString(),
  expires_at: new Date(period.expiresAtMs).toISOString(),
  renews: period.renews,
})

const showSubscription = (context: AdminContext, workspaceId: string) => {
  const active = activeSubscription(context, workspaceId)
  if (active === null) throw new GatewayError('not_found', 'The workspace has no plan.')
  return renderSubscription(active)
}

/** Empty without a plan. */
const subscriptionRecords = (context: Pick<AdminContext, 'tail'>, workspaceId: string) => {
  const active = activeSubscription(context, workspaceId)
  if (active === null) return []
  const { id, starts_at, expires_at, renews } = renderSubscription(active)
  return [{ workspace: workspaceId, subscription: id, ...termsRecord(active.terms), starts_at, expires_at, renews }]
}

/** Refuses a subscription that was replaced or has ended. */
const assertSubscribed = (context: AdminContext, workspaceId: string, subscriptionId: string): void => {
  if (activeSubscription(context, workspaceId)?.subscriptionId !== subscriptionId)
    throw new GatewayError('conflict', 'This subscription was begun before, and has ended.', {
      param: 'subscription_id',
    })
}

const path = '/admin/v1/workspaces/:id/subscription'

export const subscriptionOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'subscription.show',
    summary: 'The plan that a workspace has',
    answer: 'subscription',
    http: { method: 'get', path },
    permission: 'read_money',
    cli: {
      words: 'plan show',
      arguments: { id: '<workspace>' },
      records: (context, { id }) => subscriptionRecords(context, id),
      reports: { absent: 'the workspace has no plan' },
    },
    run: (context, { id }) => ({ body: showSubscription(context, id) }),
  }),
  defineOperation({
    name: 'subscription.start',
    summary: 'Give a workspace a plan, and charge its fee',
    request: 'requests/admin/subscribe.json',
    answer: 'subscription',
    http: { method: 'put', path },
    permission: 'move_money',
    cli: {
      words: 'plan subscribe',
      summary:
        'charge the fee, give the credit; a plan that the workspace already has is not started again without --id',
      arguments: { id: '<workspace>', plan: '<plan>' },
      members: {
        plan: { description: 'The id of a plan.' },
        subscription_id: { flags: '--id <subscription>' },
        renews: { flags: '--no-renew', description: 'Let it end with its first period.' },
      },
      records: (context, { id }) => subscriptionRecords(context, id),
      reports: { unchanged: 'this was subscribed to before; nothing was added' },
    },
    run: async (context, { id: workspaceId, body }: OperationInput<SubscribeRequest>) => {
      const { plan: planId, subscription_id: named, renews = true } = body
      const subscriptionId = named ?? `sub_${context.newId()}`
      const again = named !== undefined
      const subscribing = { workspaceId, planId, subscriptionId, startsAtMs: context.clock(), renews, again }
      const changed = await subscribe(context, subscribing)
      if (!changed && again) assertSubscribed(context, workspaceId, subscriptionId)
      return { changed, body: showSubscription(context, workspaceId) }
    },
  }),
  defineOperation({
    name: 'subscription.cancel',
    summary: 'Do not renew the plan; it ends with its period',
    answer: 'subscription',
    http: { method: 'delete', path },
    permission: 'move_money',
    cli: {
      words: 'plan cancel',
      arguments: { id: '<workspace>' },
      records: (context, { id }) => subscriptionRecords(context, id),
      reports: { unchanged: 'it was not to be renewed; nothing was added' },
    },
    run: async (context, { id }) => ({
      changed: await cancelPlan(context, id),
      body: showSubscription(context, id),
    }),
  }),
]
