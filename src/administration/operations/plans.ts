import { formatUsd, parseUsd } from '../../domain/money.ts'
import { problemsText } from '../../encoding/schema-validation.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { Limits, PlanPublished } from '../../events/types.ts'
import { requirePermission } from '../../http/admin-roles.ts'
import { pageOf } from '../../http/page.ts'
import { limitsOfRequest, renderLimits } from '../../read-api/workspace-limits.ts'
import type { AdminContext } from '../admin-context.ts'
import { modelsIn } from '../limits-changes.ts'
import { type AdminOperation, defineOperation, type OperationInput } from '../operation.ts'
import { problemsOfPlan, publishPlan } from '../plan-changes.ts'
import type { PublishPlanRequest } from '../requests.types.ts'
import type { PlanResponse } from '../responses.types.ts'
import { findWarnings } from '../routing-changes.ts'

const page = pageOf('plans')

export const renderTerms = ({ name, price, period, includedCredit, limits }: PlanPublished) => ({
  name,
  price: formatUsd(parseUsd(price)),
  period,
  included_credit: formatUsd(parseUsd(includedCredit)),
  limits: renderLimits(limits),
})

const renderPlan = (terms: PlanPublished): PlanResponse => ({ object: 'plan', id: terms.planId, ...renderTerms(terms) })

/** The terms of a plan as commands print them, with its limits in one column. */
export const termsRecord = (plan: PlanPublished) => {
  const { name, price, period, included_credit } = renderTerms(plan)
  return { plan: plan.planId, name, price, period, credit: included_credit, limits: JSON.stringify(plan.limits) }
}

const planRecords = ({ tail }: Pick<AdminContext, 'tail'>) =>
  [...tail.ledger.accounts.plans.values()]
    .toSorted((one, other) => (one.planId < other.planId ? -1 : 1))
    .map(termsRecord)

const termsOfRequest = (planId: string, body: PublishPlanRequest): PlanPublished => {
  const { name = planId, price, period = 'month', included_credit: includedCredit = '0', limits = {} } = body
  return {
    planId,
    name,
    price: formatUsd(parseUsd(price)),
    period,
    includedCredit: formatUsd(parseUsd(includedCredit)),
    limits: limitsOfRequest(limits),
  }
}

/** Its period too: a shorter one gives the included credit more often. */
const moneyOf = (terms: PlanPublished | undefined): string => {
  if (terms === undefined) return 'none'
  const { price, includedCredit, period } = terms
  return parseUsd(price) === 0n && parseUsd(includedCredit) === 0n ? 'none' : `${price} ${includedCredit} ${period}`
}

/** Limits are those of the event, as commands print them. */
interface PublishPlanCommand extends Omit<PublishPlanRequest, 'limits'> {
  readonly limits?: Limits
}

const requestOfCommand = (planId: string, { limits = {}, ...terms }: PublishPlanCommand) => {
  const problems = problemsOfPlan({ ...termsOfRequest(planId, terms), limits })
  if (problems.length > 0)
    throw new GatewayError('invalid_value', `the plan cannot be published: ${problemsText(problems)}`)
  return { ...terms, limits: renderLimits(limits) }
}

export const planOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'plan.list',
    summary: 'Every plan on its terms of now',
    query: page.known,
    answer: 'list of plan',
    http: { method: 'get', path: '/admin/v1/plans' },
    permission: 'read',
    cli: { arguments: {}, records: planRecords },
    run: ({ tail }, { query }) => {
      const plans = [...tail.ledger.accounts.plans.values()]
      return { body: page.show(plans, ({ planId }) => planId, renderPlan, query) }
    },
  }),
  defineOperation({
    name: 'plan.publish',
    summary: 'Publish a plan, or its new terms',
    request: 'requests/admin/publish-plan.json',
    answer: 'plan',
    http: { method: 'put', path: '/admin/v1/plans/:id' },
    permission: 'configure',
    cli: {
      summary: 'publish a plan, or its new terms: those who have it get them with their next renewal',
      arguments: { id: '<plan>' },
      members: {
        included_credit: { flags: '--credit <usd>' },
        limits: {
          flags: '--limits-file <file>',
          description: 'JSON: requestsPerMinute, tokensPerMinute, concurrentRequests, models, allowedModels.',
          file: 'json',
        },
      },
      body: ({ id }, named) => requestOfCommand(id, named as unknown as PublishPlanCommand),
      records: ({ tail }, { id }) => planRecords({ tail }).filter(({ plan }) => plan === id),
      reports: { unchanged: 'unchanged: the same terms are published already' },
    },
    run: async (context, { id, body }: OperationInput<PublishPlanRequest>) => {
      const terms = termsOfRequest(id, body)
      if (moneyOf(terms) !== moneyOf(context.tail.ledger.accounts.plans.get(id)))
        requirePermission(context.role, 'move_money')
      const changed = await publishPlan(context, terms)
      const warnings = findWarnings(context, context.catalog(), modelsIn(terms.limits))
      return { changed, warnings, body: renderPlan(terms) }
    },
  }),
]
