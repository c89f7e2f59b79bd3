import { formatUsd, parseUsd } from '../../../../domain/money.ts'
import type { PlanPublished } from '../../../../events/types.ts'
import { modelsIn } from '../../../limits-changes.ts'
import { publishPlan } from '../../../plan-changes.ts'
import { warningsOf } from '../../../routing-changes.ts'
import { readQuery } from '../ledger/query.ts'
import { limitsOf, shownLimits } from './limits.ts'
import { pageOf } from './page.ts'
import type { PublishPlanRequest } from './requests.types.ts'
import { type AdminAnswer, type AdminCall, type AdminParts, warned } from './route.ts'

const page = pageOf('plans')

/** The parameters of the list's query. */
export const { known } = page

/** What a plan says, whoever has it. */
export const shownTerms = ({ name, price, period, includedCredit, limits }: PlanPublished) => ({
  name,
  price: formatUsd(parseUsd(price)),
  period,
  included_credit: formatUsd(parseUsd(includedCredit)),
  limits: shownLimits(limits),
})

const shownPlan = (terms: PlanPublished) => ({ object: 'plan', id: terms.planId, ...shownTerms(terms) })

export const list = ({ ctx, books }: AdminCall<undefined>): AdminAnswer => {
  const plans = [...books.tail.ledger.accounts.plans.values()]
  return { body: page.show(plans, ({ planId }) => planId, shownPlan, readQuery(ctx, known)) }
}

export const publish = async (
  { books, id: planId, body }: AdminCall<PublishPlanRequest>,
  { catalog }: AdminParts,
): Promise<AdminAnswer> => {
  const { name = planId, price, period = 'month', included_credit = '0', limits = {} } = body
  const [fee, includedCredit] = [price, included_credit].map((usd) => formatUsd(parseUsd(usd)))
  const terms = { planId, name, price: fee!, period, includedCredit: includedCredit!, limits: limitsOf(limits) }
  await publishPlan(books, terms)
  return { body: { ...shownPlan(terms), ...warned(warningsOf(books, catalog(), modelsIn(terms.limits))) } }
}
