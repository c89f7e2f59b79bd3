import { walletOf } from '../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import { type Subscription, termsOf } from '../domain/plans/subscription.ts'
import type { WalletRefusal } from '../domain/wallet/decide.ts'
import type { PlanCommand, PlanRefusal } from '../domain/wallet/decide-plan.ts'
import { schemaIdOf } from '../events/envelope.ts'
import type { PlanPublished } from '../events/types.ts'
import { say, writerOf } from '../roles/books.ts'
import { problemsText, validatorOf } from '../schema-validation.ts'
import type { Books } from './accounts.ts'
import { CommandError, UsageError } from './report.ts'

/** True when the plan is new, or its terms are; false when they stood already. Throws UsageError for terms that are none. */
export const publishPlan = async (books: Books, plan: PlanPublished): Promise<boolean> => {
  const problems = validatorOf(schemaIdOf('PlanPublished'), { every: true })(plan)
  if (problems.length > 0) throw new UsageError(`the plan cannot be published: ${problemsText(problems)}`)
  const standing = books.tail.ledger.accounts.plans.get(plan.planId)
  const terms = termsOf(plan)
  if (standing !== undefined && JSON.stringify(termsOf(standing)) === JSON.stringify(terms)) return false
  await say(books, [{ type: 'PlanPublished', data: terms }])
  return true
}

const termsRecord = ({ planId, name, price, period, includedCredit, limits }: PlanPublished) => ({
  plan: planId,
  name,
  price: formatUsd(parseUsd(price)),
  period,
  credit: formatUsd(parseUsd(includedCredit)),
  limits: JSON.stringify(limits),
})

/** Every plan on its terms of now, by id. */
export const planRecords = ({ tail }: Books) =>
  [...tail.ledger.accounts.plans.values()]
    .toSorted((one, other) => (one.planId < other.planId ? -1 : 1))
    .map(termsRecord)

const refusalText = (refusal: PlanRefusal, price: string): string => {
  switch (refusal.reason) {
    case 'insufficient':
      return `the fee of ${price} USD is not covered: ${formatUsd(refusal.availablePicos)} USD can be spent on it`
    case 'subscription_differs':
      return `this subscription is to the plan ${refusal.planId}`
    case 'no_subscription':
      return 'the workspace has no plan'
  }
}

const isPlanRefusal = (refused: WalletRefusal): refused is PlanRefusal =>
  refused.reason === 'insufficient' || refused.reason === 'subscription_differs' || refused.reason === 'no_subscription'

/** True when it added something, false when it had been carried out before. Throws CommandError when it is refused. */
const carryOut = async (books: Books, workspaceId: string, command: PlanCommand, price = '0'): Promise<boolean> => {
  if (!books.tail.ledger.accounts.workspaces.has(workspaceId)) throw new CommandError('no such workspace')
  const outcome = await writerOf(books).execute(workspaceId, command, books.actor)
  if ('facts' in outcome) return outcome.facts.length > 0
  const { refused } = outcome
  if (!isPlanRefusal(refused)) throw new Error(`a plan was refused for ${refused.reason}`)
  throw new CommandError(refusalText(refused, price))
}

export interface Subscribing {
  readonly workspaceId: string
  readonly planId: string
  readonly subscriptionId: string
  readonly startsAtMs: number
  readonly renews: boolean
  /** False: a plan that the workspace has already is not begun anew. */
  readonly again: boolean
}

/** True when a period has begun and its fee is charged; false for a repeat. */
export const subscribe = (books: Books, { workspaceId, planId, ...subscribing }: Subscribing): Promise<boolean> => {
  const terms = books.tail.ledger.accounts.plans.get(planId)
  if (terms === undefined) throw new CommandError(`no plan ${planId} was ever published`)
  return carryOut(books, workspaceId, { type: 'Subscribe', terms, ...subscribing }, terms.price)
}

/** True when the plan would have been renewed until now. */
export const cancelPlan = (books: Books, workspaceId: string): Promise<boolean> =>
  carryOut(books, workspaceId, { type: 'CancelPlan' })

const subscriptionRecord = ({ workspaceId, subscriptionId, ...subscription }: Subscription) => ({
  workspace: workspaceId,
  subscription: subscriptionId,
  ...termsRecord(subscription.terms),
  starts_at: new Date(subscription.startsAtMs).toISOString(),
  expires_at: new Date(subscription.expiresAtMs).toISOString(),
  renews: subscription.renews,
})

/** The plan that a workspace has, on the terms of its period; none without one. */
export const subscriptionRecords = ({ tail }: Books, workspaceId: string) => {
  if (!tail.ledger.accounts.workspaces.has(workspaceId)) throw new CommandError('no such workspace')
  const { subscription } = walletOf(tail.ledger, workspaceId)
  return subscription === null ? [] : [subscriptionRecord(subscription)]
}
