import { modelsIn } from '../../../../administration/limits-changes.ts'
import { executePublishPlan } from '../../../../administration/plan-changes.ts'
import { findWarnings } from '../../../../administration/routing-changes.ts'
import { formatUsd, parseUsd } from '../../../../domain/money.ts'
import type { PlanPublished } from '../../../../events/types.ts'
import { readQuery } from '../ledger/query.ts'
import { limitsOfRequest, shownLimits } from './limits.ts'
import { pageOf } from './page.ts'
import type { PublishPlanRequest } from './requests.types.ts'
import { type AdminCall, type AdminParts, type AdminResult, withWarnings } from './route.ts'

const page = pageOf('plans')

export const { known } = page

export const shownTerms = ({ name, price, period, includedCredit, limits }: PlanPublished) => ({
  name,
  price: formatUsd(parseUsd(price)),
  period,
  included_credit: formatUsd(parseUsd(includedCredit)),
  limits: shownLimits(limits),
})

const shownPlan = (terms: PlanPublished) => ({ object: 'plan', id: terms.planId, ...shownTerms(terms) })

export const showPlans = ({ ctx, books }: AdminCall<undefined>): AdminResult => {
  const plans = [...books.tail.ledger.accounts.plans.values()]
  return { body: page.show(plans, ({ planId }) => planId, shownPlan, readQuery(ctx, known)) }
}

export const putPlan = async (
  { books, id: planId, body }: AdminCall<PublishPlanRequest>,
  { catalog }: AdminParts,
): Promise<AdminResult> => {
  const { name = planId, price, period = 'month', included_credit = '0', limits = {} } = body
  const [fee, includedCredit] = [price, included_credit].map((usd) => formatUsd(parseUsd(usd)))
  const terms = { planId, name, price: fee!, period, includedCredit: includedCredit!, limits: limitsOfRequest(limits) }
  await executePublishPlan(books, terms)
  return { body: { ...shownPlan(terms), ...withWarnings(findWarnings(books, catalog(), modelsIn(terms.limits))) } }
}
