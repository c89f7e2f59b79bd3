import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { modelsIn } from '../administration/limits-changes.ts'
import { termsRecord } from '../administration/operations/plans.ts'
import { subscriptionRecords } from '../administration/operations/subscriptions.ts'
import { problemsOfPlan, publishPlan, subscribe } from '../administration/plan-changes.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import { type Period, periods } from '../domain/plans/period.ts'
import { termsOf } from '../domain/plans/subscription.ts'
import { problemsText } from '../encoding/schema-validation.ts'
import type { Limits } from '../events/types.ts'
import { warnAboutNames } from './catalog.ts'
import type { WithOperationSession } from './operations.ts'
import { parseUsdOption } from './option-values.ts'
import { printRecords, UsageError } from './report.ts'

interface Json {
  readonly json: boolean
}

const json = (): Option => new Option('--json', 'one JSON object a line').default(false)

/** The content is checked with the plan. */
const readLimits = (file: string | undefined): Limits => {
  if (file === undefined) return {}
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : cause
    throw new UsageError(`the limits in ${file} cannot be read: ${why}`, { cause })
  }
}

interface PublishOptions extends Json {
  readonly name?: string
  readonly price: string
  readonly period: Period
  readonly credit: string
  readonly limitsFile?: string
}

const registerPublish = (plan: Command, withSession: WithOperationSession): void => {
  plan
    .command('publish <plan>')
    .description('publish a plan, or its new terms: those who have it get them with their next renewal')
    .option('--name <name>', 'display name (default: the id)')
    .requiredOption('--price <usd>', 'the fee of a period', parseUsdOption)
    .addOption(new Option('--period <period>', 'how long a fee pays for').choices(periods).default('month'))
    .option('--credit <usd>', 'credit of each period, which lapses at its end', parseUsdOption, '0')
    .option('--limits-file <file>', 'JSON: requestsPerMinute, tokensPerMinute, concurrentRequests, models, spend, …')
    .addOption(json())
    .action((planId: string, options: PublishOptions, command: Command) => {
      const { name = planId, period } = options
      const [price, includedCredit] = [formatUsd(parseUsd(options.price)), formatUsd(parseUsd(options.credit))]
      const terms = { planId, name, price, period, includedCredit, limits: readLimits(options.limitsFile) }
      const problems = problemsOfPlan(terms)
      if (problems.length > 0) throw new UsageError(`the plan cannot be published: ${problemsText(problems)}`)
      return withSession(command, async (session) => {
        if (!(await publishPlan(session, terms))) console.error('unchanged: the same terms are published already')
        warnAboutNames(session, modelsIn(terms.limits))
        printRecords([termsRecord(termsOf(terms))], options)
      })
    })
}

interface SubscribeOptions extends Json {
  readonly id?: string
  readonly renew: boolean
}

const registerSubscribe = (plan: Command, withSession: WithOperationSession): void => {
  plan
    .command('subscribe <workspace> <plan>')
    .description(
      'charge the fee, give the credit; a plan that the workspace already has is not started again without --id',
    )
    .option('--id <subscription>', 'names the subscription: repeated, it adds nothing')
    .option('--no-renew', 'let it end with its first period')
    .addOption(json())
    .action((workspaceId: string, planId: string, options: SubscribeOptions, command: Command) =>
      withSession(command, async (session) => {
        const { clock, newId } = session.runtime
        const { id: subscriptionId = `sub_${newId()}`, renew: renews } = options
        const again = options.id !== undefined
        const subscribing = { workspaceId, planId, subscriptionId, startsAtMs: clock(), renews, again }
        if (!(await subscribe(session, subscribing))) console.error('this was subscribed to before; nothing was added')
        printRecords(subscriptionRecords(session, workspaceId), options)
      }),
    )
}

/** Into the group of the operations on plans. */
export const registerPlan = (plan: Command, withSession: WithOperationSession): void => {
  registerPublish(plan, withSession)
  registerSubscribe(plan, withSession)
}
