import { findOrCreateWallet } from '../domain/ledger/ledger.ts'
import { formatUsd } from '../domain/money.ts'
import { type Subscription, termsOf } from '../domain/plans/subscription.ts'
import type { WalletRefusal } from '../domain/wallet/decide.ts'
import type { PlanCommand, PlanRefusal } from '../domain/wallet/decide-plan.ts'
import { getValidator, type SchemaProblem } from '../encoding/schema-validation.ts'
import { GatewayError, truncateName } from '../errors/gateway-error.ts'
import { schemaIdOf } from '../events/envelope.ts'
import type { PlanPublished } from '../events/types.ts'
import {
  type AdminContext,
  appendGlobalFacts,
  requireOpenWorkspace,
  requireWorkspace,
  walletHandlerOf,
} from './admin-context.ts'

const spendProblem: SchemaProblem = {
  path: 'limits.spend',
  message: 'is not of a plan: spend limits are those of a key',
  keyword: 'not',
}

export const problemsOfPlan = (plan: PlanPublished): readonly SchemaProblem[] => {
  const problems = getValidator(schemaIdOf('PlanPublished'), { allErrors: true })(plan)
  return problems.length === 0 && plan.limits.spend !== undefined ? [spendProblem] : problems
}

/** True when the plan is new, or its terms are; false when unchanged. Throws `invalid_value`. */
export const publishPlan = async (context: AdminContext, plan: PlanPublished): Promise<boolean> => {
  const [problem] = problemsOfPlan(plan)
  if (problem !== undefined)
    throw new GatewayError('invalid_value', `Invalid value: '${problem.path}' ${problem.message}.`, {
      param: problem.path,
    })
  const published = context.tail.ledger.accounts.plans.get(plan.planId)
  const terms = termsOf(plan)
  if (published !== undefined && JSON.stringify(termsOf(published)) === JSON.stringify(terms)) return false
  await appendGlobalFacts(context, [{ type: 'PlanPublished', data: terms }])
  return true
}

const planRefusal = (refusal: PlanRefusal, price: string): GatewayError => {
  switch (refusal.reason) {
    case 'insufficient':
      return new GatewayError(
        'insufficient_user_quota',
        `The fee of ${price} USD is not covered: ${formatUsd(refusal.availablePicos)} USD can be spent on it.`,
      )
    case 'subscription_differs':
      return new GatewayError('conflict', `This subscription is to the plan ${refusal.planId}.`, {
        param: 'subscription_id',
      })
    case 'no_subscription':
      return new GatewayError('not_found', 'The workspace has no plan.')
  }
}

const isPlanRefusal = (refused: WalletRefusal): refused is PlanRefusal =>
  refused.reason === 'insufficient' || refused.reason === 'subscription_differs' || refused.reason === 'no_subscription'

const carryOut = async (
  context: AdminContext,
  workspaceId: string,
  command: PlanCommand,
  price = '0',
): Promise<boolean> => {
  requireWorkspace(context, workspaceId)
  const outcome = await walletHandlerOf(context).execute(workspaceId, command, context.actor)
  if ('facts' in outcome) return outcome.facts.length > 0
  const { refused } = outcome
  if (!isPlanRefusal(refused)) throw new Error(`a plan was refused for ${refused.reason}`)
  throw planRefusal(refused, price)
}

export interface SubscribeRequest {
  readonly workspaceId: string
  readonly planId: string
  readonly subscriptionId: string
  readonly startsAtMs: number
  readonly renews: boolean
  /** False: a plan that the workspace already has is not started again. */
  readonly again: boolean
}

/** False for a repeat. Throws `not_found`, `conflict` or `insufficient_user_quota`. */
export const subscribe = async (
  context: AdminContext,
  { workspaceId, planId, ...subscribing }: SubscribeRequest,
): Promise<boolean> => {
  requireOpenWorkspace(context, workspaceId)
  const terms = context.tail.ledger.accounts.plans.get(planId)
  if (terms === undefined)
    throw new GatewayError('not_found', `There is no plan ${truncateName(planId)}.`, { param: 'plan' })
  return carryOut(context, workspaceId, { type: 'Subscribe', terms, ...subscribing }, terms.price)
}

/** False when the plan had been cancelled before. Throws `not_found` where there is none. */
export const cancelPlan = (context: AdminContext, workspaceId: string): Promise<boolean> =>
  carryOut(context, workspaceId, { type: 'CancelPlan' })

/** On the terms of its period; null without a plan. Throws `not_found`. */
export const activeSubscription = (context: Pick<AdminContext, 'tail'>, workspaceId: string): Subscription | null => {
  requireWorkspace(context, workspaceId)
  return findOrCreateWallet(context.tail.ledger, workspaceId).subscription
}
