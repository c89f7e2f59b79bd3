import type { AdminContext } from '../../../../administration/admin-context.ts'
import {
  activeSubscription,
  executeCancelPlan,
  executeSubscribe as subscribeTo,
} from '../../../../administration/plan-changes.ts'
import type { Subscription } from '../../../../domain/plans/subscription.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { shownTerms } from './plans.ts'
import type { SubscribeRequest } from './requests.types.ts'
import type { AdminCall, AdminParts, AdminResult } from './route.ts'

const shownSubscription = ({ subscriptionId, workspaceId, terms, ...period }: Subscription) => ({
  object: 'subscription',
  id: subscriptionId,
  workspace: workspaceId,
  plan: terms.planId,
  ...shownTerms(terms),
  starts_at: new Date(period.startsAtMs).toISOString(),
  expires_at: new Date(period.expiresAtMs).toISOString(),
  renews: period.renews,
})

const subscriptionShown = (books: AdminContext, workspaceId: string): object => {
  const standing = activeSubscription(books, workspaceId)
  if (standing === null) throw new GatewayError('not_found', 'The workspace has no plan.')
  return shownSubscription(standing)
}

export const getSubscription = ({ books, id }: AdminCall<undefined>): AdminResult => ({
  body: subscriptionShown(books, id),
})

/** Refuses a subscription that was replaced or has ended. */
const requireStanding = (books: AdminContext, workspaceId: string, subscriptionId: string): void => {
  if (activeSubscription(books, workspaceId)?.subscriptionId !== subscriptionId)
    throw new GatewayError('conflict', 'This subscription was begun before, and has ended.', {
      param: 'subscription_id',
    })
}

export const putSubscription = async (
  { books, id: workspaceId, body }: AdminCall<SubscribeRequest>,
  { clock, newId }: AdminParts,
): Promise<AdminResult> => {
  const { plan: planId, subscription_id: named, renews = true } = body
  const subscriptionId = named ?? `sub_${newId()}`
  const again = named !== undefined
  const isNew = await subscribeTo(books, { workspaceId, planId, subscriptionId, startsAtMs: clock(), renews, again })
  if (!isNew && again) requireStanding(books, workspaceId, subscriptionId)
  return { body: subscriptionShown(books, workspaceId) }
}

/** Takes effect at the end of the period. */
export const deleteSubscription = async ({ books, id }: AdminCall<undefined>): Promise<AdminResult> => {
  await executeCancelPlan(books, id)
  return { body: subscriptionShown(books, id) }
}
