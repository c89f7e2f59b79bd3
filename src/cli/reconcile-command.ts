import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { PostgresReconcileRepository } from '../adapters/postgres/reconcile-repository.ts'
import type { Config } from '../config/config.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import type { Correction } from '../reconcile/correction.ts'
import { isDay, isZoneName } from '../reconcile/invoices/days.ts'
import { type FormatName, formatNames, type InvoiceFile } from '../reconcile/invoices/invoice.ts'
import { PeriodUnknown } from '../reconcile/reconcile.ts'
import { askYes } from './ask.ts'
import { createLoggedCheck } from './assert-logged.ts'
import type { ConfigOf } from './audit-command.ts'
import { catchUp } from './catch-up.ts'
import { cliLimits } from './command-limits.ts'
import { resolveOperator } from './operator.ts'
import { parseUsdOption } from './option-values.ts'
import { openTail, type Platform, requireTables, withPlatform } from './platform.ts'
import { collectOption } from './public-keys.ts'
import { type ReconcileOptions, runReconcile } from './reconcile.ts'
import { CommandError, exitCodes, UsageError } from './report.ts'
import { createRuntime, type Runtime } from './runtime.ts'

interface ReconcileArguments {
  readonly provider: string
  readonly format: FormatName
  readonly file: readonly string[]
  readonly from?: string
  readonly to?: string
  readonly timezone: string
  readonly rounding?: bigint
  readonly unitPrice?: bigint
  readonly model: ReadonlyMap<string, string>
  readonly post: boolean
  readonly record: boolean
  readonly yes: boolean
  readonly json: boolean
}

const dayFrom = (text: string): string => {
  if (!isDay(text)) throw new InvalidArgumentError('a day such as 2026-03-31')
  return text
}

const zoneExpected = 'a name such as Asia/Shanghai'

const timezoneFrom = (text: string): string => {
  if (!isZoneName(text)) throw new InvalidArgumentError(zoneExpected)
  return text
}

const usdFrom = (text: string): bigint => parseUsd(parseUsdOption(text))

const collectModelAlias = (text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const [name = '', meant = ''] = text.split('=')
  if (name === '' || meant === '') throw new InvalidArgumentError('<name on the invoice>=<model>')
  return new Map([...before, [name, meant]])
}

/** Throws UsageError for one that cannot be read. */
export const openInvoiceFile = async (name: string): Promise<InvoiceFile> => {
  const found = await stat(name).catch((cause) => {
    throw new UsageError(`${name} cannot be read`, { cause })
  })
  if (found.isDirectory()) throw new UsageError(`${name} is a folder: name a file`)
  return { name, open: () => createReadStream(name) }
}

const decidePosting = ({ post, yes }: ReconcileArguments): ReconcileOptions['post'] => {
  if (yes && !post) throw new UsageError('--yes answers the question of --post: give both')
  if (post && !yes && !process.stdin.isTTY)
    throw new UsageError(
      '--post asks before it posts, and there is no terminal to answer on: leave it out to see what it would post, add --yes to post',
    )
  return !post ? 'no' : yes ? 'yes' : 'ask'
}

const optionsOf = async (input: ReconcileArguments, operator: string): Promise<ReconcileOptions> => {
  const { from = null, to = null } = input
  if (from !== null && to !== null && from > to) throw new UsageError(`--from ${from} is after --to ${to}`)
  return {
    provider: input.provider,
    format: input.format,
    files: await Promise.all(input.file.map(openInvoiceFile)),
    from,
    to,
    timezone: input.timezone,
    roundingPicos: input.rounding ?? null,
    unitPricePicos: input.unitPrice ?? null,
    modelAliases: input.model,
    post: decidePosting(input),
    operator,
    json: input.json,
  }
}

const assertProviderKnown = (provider: string, { catalog }: Config, models: Iterable<string>): void => {
  const priced = [...models].map((model) => model.slice(0, model.indexOf('/')))
  const known = new Set([...catalog.providers.keys(), ...priced])
  if (!known.has(provider))
    throw new UsageError(`no such provider: ${provider}; known are ${[...known].sort().join(', ')}`)
}

const sumPicos = (corrections: readonly Correction[], taken: boolean): bigint =>
  corrections.reduce((sum, { debitPicos }) => (debitPicos > 0n === taken ? sum + debitPicos : sum), 0n)

const confirmPosting = (corrections: readonly Correction[]): Promise<boolean> => {
  const workspaces = new Set(corrections.map(({ workspaceId }) => workspaceId)).size
  const taken = formatUsd(sumPicos(corrections, true))
  const given = formatUsd(-sumPicos(corrections, false))
  return askYes(
    `\nPost ${corrections.length} corrections of ${workspaces} workspaces: take ${taken} USD, give back ${given} USD?`,
  )
}

const postIfConfirmed = async ({ toPost, post }: Awaited<ReturnType<typeof runReconcile>>): Promise<void> => {
  if (toPost.length > cliLimits.correctionsAskedMax)
    throw new CommandError(`above ${cliLimits.correctionsAskedMax} corrections: --yes posts them, nothing is posted`)
  if (await confirmPosting(toPost)) await post()
  else console.error('nothing is posted')
}

const printRecorded = (sequence: number, { json }: ReconcileOptions): void =>
  console.log(json ? JSON.stringify({ type: 'recorded', sequence }) : `recorded at frame ${sequence}`)

const compareInvoice = async (
  platform: Platform,
  runtime: Runtime,
  config: Config,
  options: ReconcileOptions,
  isRecorded: boolean,
): Promise<number> => {
  const tail = await openTail(platform)
  try {
    assertProviderKnown(options.provider, config, tail.ledger.prices.keys())
    await catchUp(platform, runtime)
    const { place, database } = requireTables(platform)
    const { log } = platform
    const assertLogged = createLoggedCheck({ ...runtime, log, frames: log, tail, database }, options.provider)
    const compared = await PostgresReconcileRepository.run(place, options.provider, async (repository) => {
      if (!(await repository.hasTimeZone(options.timezone)))
        throw new UsageError(`--timezone must be ${zoneExpected}, got '${options.timezone}'`)
      return runReconcile(
        { repository, log, tail, catalog: config.catalog, nowMs: runtime.clock(), assertLogged },
        options,
      )
    })
    if (compared.toPost.length > 0) await postIfConfirmed(compared)
    if (isRecorded) {
      const sequence = await compared.record()
      if (sequence !== null) printRecorded(sequence, options)
    }
    return compared.left() > 0 ? exitCodes.failed : exitCodes.done
  } catch (fault) {
    if (fault instanceof PeriodUnknown) throw new UsageError('the invoice has no dates: give --from and --to')
    throw fault
  } finally {
    await tail.stop()
  }
}

const help = `
Differences, each in one class, in the order in which they are explained; the classes add up to the whole difference:
  timing              requests that reached over midnight, charged here on one day and invoiced on the other
  estimated           charges that were counted with a tokenizer, up to as much again as was charged
  unfinished_request  up to what requests without an end can have cost
  token_drift         other quantities, at our price
  price_drift         what is left: another price
  unexplained         what differs from an estimated charge by more; it is not posted
  rounding            what is left, where it is below what the invoice's way of writing amounts loses
  missing_here, missing_there, unknown_model   in one of the two only

A quantity without an amount is valued at our price. Days are UTC unless --timezone says otherwise.

--post corrects what is invoiced request by request, or task by task: token_drift, price_drift and estimated, in one adjustment for each.
It takes from the workspace, or gives back, so that the charge equals the invoice. The rest is listed and not posted: what is missing,
unknown or without an end has no charge to correct, and a sum over a day belongs to no one workspace. It shows everything and asks on the
terminal before it posts; without a terminal it needs --yes, or it refuses and posts nothing. Posting again posts nothing new;
another invoice for the same request corrects what is left.
A charge is compared after all that corrected it: earlier reconciliations, \`findings confirm\`, \`adjust --reason correction\`. Refunds and
goodwill remain: no more is given back than they leave, and a charge that was given back whole is not corrected.
What is \`superseded\` was corrected otherwise in the meantime: run again to see what is left.

--record appends one event: days, sums, how much of the difference is explained, and what is left after --post. Rules with the measure
\`unreconciled\` are raised by it. Recording the same days again takes the place of what was recorded before.

Exit code 0: nothing but timing and rounding is left; 1: something is, or the invoice has bad rows, and then nothing is compared;
2: used wrongly. Requests and holds past their deadline, late verdicts, estimated charges and second closings are listed, and change no exit code.`

export const registerReconcile = (program: Command, configOf: ConfigOf): void => {
  program
    .command('reconcile')
    .description('compare the ledger with what a provider invoiced, and correct what can be')
    .requiredOption('--provider <name>', 'whose invoice it is, as the configuration names it')
    .addOption(new Option('--format <format>', 'what the files are').choices(formatNames).makeOptionMandatory())
    .requiredOption('--file <file>', 'a file of the invoice; may be repeated', collectOption)
    .option('--from <day>', 'the first day (default: that of the invoice)', dayFrom)
    .option('--to <day>', 'the last day, which is included (default: that of the invoice)', dayFrom)
    .option('--timezone <zone>', 'where the days of the invoice begin and end', timezoneFrom, 'UTC')
    .option('--rounding <usd>', 'how far each amount may be from the exact one (default: by the format)', usdFrom)
    .option('--unit-price <usd>', 'of video tasks that are not in the ledger (default: by the price sheets)', usdFrom)
    .option(
      '--model <invoice=model>',
      'a model that the invoice calls otherwise; may be repeated',
      collectModelAlias,
      new Map(),
    )
    .option('--post', 'show the corrections, ask, and post them; without it they are only shown', false)
    .option('--yes', 'with --post: post without asking', false)
    .option('--record', 'record in the log what is left, for alerts and the audit trail', false)
    .option('--json', 'one JSON object a line', false)
    .addHelpText('after', help)
    .action(async (input: ReconcileArguments, command: Command) => {
      const options = await optionsOf(input, resolveOperator(command.optsWithGlobals<{ actor?: string }>().actor))
      const config = configOf(command)
      const runtime = createRuntime('warn')
      process.exitCode = await withPlatform(config, runtime, {}, (platform) =>
        compareInvoice(platform, runtime, config, options, input.record),
      )
    })
}
