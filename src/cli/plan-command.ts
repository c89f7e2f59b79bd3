import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { modelsIn } from '../administration/limits-changes.ts'
import { type Period, periods } from '../domain/plans/period.ts'
import type { Limits } from '../events/types.ts'
import { amountText, type CommandContext } from './accounts.ts'
import { type CatalogParts, warnAboutNames } from './catalog.ts'
import { cancelPlan, planRecords, publishPlan, subscribe, subscriptionRecords } from './plans.ts'
import { printRecords, UsageError } from './report.ts'
import type { Runtime } from './runtime.ts'

export type WithPlanSession = (
  command: Command,
  work: (session: CommandContext & CatalogParts & { readonly runtime: Runtime }) => Promise<void>,
) => Promise<void>

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

const registerPublish = (plan: Command, withSession: WithPlanSession): void => {
  plan
    .command('publish <plan>')
    .description('publish a plan, or its new terms: those who have it get them with their next renewal')
    .option('--name <name>', 'display name (default: the id)')
    .requiredOption('--price <usd>', 'the fee of a period')
    .addOption(new Option('--period <period>', 'how long a fee pays for').choices(periods).default('month'))
    .option('--credit <usd>', 'credit of each period, which lapses at its end', '0')
    .option('--limits-file <file>', 'JSON: requestsPerMinute, tokensPerMinute, concurrentRequests, models, spend, …')
    .addOption(json())
    .action((planId: string, options: PublishOptions, command: Command) => {
      const { name = planId, period } = options
      const [price, includedCredit] = [amountText(options.price), amountText(options.credit)]
      const terms = { planId, name, price, period, includedCredit, limits: readLimits(options.limitsFile) }
      return withSession(command, async (session) => {
        if (!(await publishPlan(session, terms))) console.error('these terms stood already; nothing was published')
        warnAboutNames(session, modelsIn(terms.limits))
        printRecords(
          planRecords(session).filter((record) => record.plan === planId),
          options,
        )
      })
    })
}

interface SubscribeOptions extends Json {
  readonly id?: string
  readonly renew: boolean
}

const registerSubscribe = (plan: Command, withSession: WithPlanSession): void => {
  plan
    .command('subscribe <workspace> <plan>')
    .description(
      'charge the fee, give the credit; a plan that the workspace has already is not begun anew without --id',
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

export const registerPlan = (program: Command, withSession: WithPlanSession): void => {
  const plan = program.command('plan').description('publish plans, and say which workspace has which')
  registerPublish(plan, withSession)
  plan
    .command('list')
    .description('every plan on its terms of now, in USD')
    .addOption(json())
    .action((options: Json, command: Command) =>
      withSession(command, async (session) => printRecords(planRecords(session), options)),
    )
  registerSubscribe(plan, withSession)
  plan
    .command('cancel <workspace>')
    .description('do not renew the plan of a workspace; it ends with its period')
    .addOption(json())
    .action((workspaceId: string, options: Json, command: Command) =>
      withSession(command, async (session) => {
        if (!(await cancelPlan(session, workspaceId))) console.error('it was not to be renewed; nothing was added')
        printRecords(subscriptionRecords(session, workspaceId), options)
      }),
    )
  plan
    .command('show <workspace>')
    .description('the plan that a workspace has')
    .addOption(json())
    .action((workspaceId: string, options: Json, command: Command) =>
      withSession(command, async (session) => {
        const records = subscriptionRecords(session, workspaceId)
        if (records.length === 0) console.error('the workspace has no plan')
        printRecords(records, options)
      }),
    )
}
