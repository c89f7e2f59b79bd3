import * as changes from '../administration/plan-changes.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import type { Subscription } from '../domain/plans/subscription.ts'
import { problemsText } from '../encoding/schema-validation.ts'
import type { PlanPublished } from '../events/types.ts'
import type { CommandContext } from './accounts.ts'
import { UsageError } from './report.ts'

export {
  executeCancelPlan as cancelPlan,
  executeSubscribe as subscribe,
  type SubscribeRequest as Subscribing,
} from '../administration/plan-changes.ts'

/** False where the plan had these terms already. Throws UsageError for invalid terms. */
export const publishPlan = async (books: CommandContext, plan: PlanPublished): Promise<boolean> => {
  const problems = changes.problemsOfPlan(plan)
  if (problems.length > 0) throw new UsageError(`the plan cannot be published: ${problemsText(problems)}`)
  return changes.executePublishPlan(books, plan)
}

const termsRecord = ({ planId, name, price, period, includedCredit, limits }: PlanPublished) => ({
  plan: planId,
  name,
  price: formatUsd(parseUsd(price)),
  period,
  credit: formatUsd(parseUsd(includedCredit)),
  limits: JSON.stringify(limits),
})

export const planRecords = ({ tail }: CommandContext) =>
  [...tail.ledger.accounts.plans.values()]
    .toSorted((one, other) => (one.planId < other.planId ? -1 : 1))
    .map(termsRecord)

const subscriptionRecord = ({ workspaceId, subscriptionId, ...subscription }: Subscription) => ({
  workspace: workspaceId,
  subscription: subscriptionId,
  ...termsRecord(subscription.terms),
  starts_at: new Date(subscription.startsAtMs).toISOString(),
  expires_at: new Date(subscription.expiresAtMs).toISOString(),
  renews: subscription.renews,
})

/** The workspace's plan on the terms of its period; empty without one. */
export const subscriptionRecords = (books: CommandContext, workspaceId: string) => {
  const subscription = changes.activeSubscription(books, workspaceId)
  return subscription === null ? [] : [subscriptionRecord(subscription)]
}
