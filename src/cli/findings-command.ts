import { type Command, Option } from 'commander'
import { collectEvidence } from '../audit/collect-evidence.ts'
import { confirmReported } from '../audit/confirm.ts'
import { findUnknownDelivery } from '../audit/unknown-delivery.ts'
import { formatUsd } from '../domain/money.ts'
import { isUnits } from '../domain/video/settle.ts'
import { adjustmentKey } from '../domain/wallet/evolve.ts'
import { undeliveredFact } from '../domain/wallet/undelivered.ts'
import type { FactOf } from '../events/envelope.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { ConfigOf } from './audit-command.ts'
import { cliLimits } from './command-limits.ts'
import { resolveOperator } from './operator.ts'
import { openTail, type Platform, requireTables, withPlatform } from './platform.ts'
import { foldWithProgress } from './read-source.ts'
import { CommandError, type OutputOptions, printRecords } from './report.ts'
import { createRuntime, type Runtime } from './runtime.ts'

interface ListOptions extends OutputOptions {
  readonly workspace?: string
}

interface ConfirmOptions extends OutputOptions {
  readonly units?: string | null
}

const postOnce = async (
  platform: Platform,
  fact: FactOf<'AdjustmentPosted'>,
  options: OutputOptions,
): Promise<void> => {
  const { workspaceId, adjustmentId, amount, corrects } = fact.data
  const tail = await openTail(platform)
  try {
    const isPosted = tail.ledger.wallets.get(workspaceId)?.references.has(adjustmentKey(adjustmentId)) === true
    if (!isPosted) await platform.log.postToWallet(workspaceId, [fact])
    printRecords([{ charge: corrects, workspace: workspaceId, amount, posted: isPosted ? 'before' : 'now' }], options)
  } finally {
    await tail.stop()
  }
}

/** What is posted is read from the log alone. */
const confirm = async (
  platform: Platform,
  id: string,
  operator: string,
  { units = null, ...options }: ConfirmOptions,
): Promise<void> => {
  if (units !== null && !isUnits(units))
    throw new CommandError(`--units must be a number such as 4.5, got \`${units}\``)
  const evidence = await foldWithProgress('findings confirm', platform.log, (log) => collectEvidence(log, id))
  if (evidence.events.length === 0) throw new CommandError(`no request and no task has the id ${id}`)
  const fact = confirmReported(evidence, operator, units)
  const how = units === null ? 'a confirmation' : 'a number of units'
  if (fact === null) throw new CommandError(`nothing of ${id} waits for ${how}`)
  await postOnce(platform, fact, options)
}

/** Takes back a charge whose delivery is unknown, as a repeat with its idempotency key does, and not again after that. */
const refund = async (platform: Platform, id: string, operator: string, options: OutputOptions): Promise<void> => {
  const charge = await foldWithProgress('findings refund', platform.log, (log) => findUnknownDelivery(log, id))
  if (charge === null)
    throw new CommandError(`the delivery of ${id} is not in doubt: \`gateway findings\` lists those that are`)
  const undelivered = undeliveredFact(charge.bill.data, charge.spender)
  const note = 'The edge ended without a shutdown when the answer was charged; an operator took the charge back.'
  await postOnce(platform, { ...undelivered, data: { ...undelivered.data, note, by: operator } }, options)
}

const list = async (platform: Platform, { clock }: Runtime, { workspace, ...options }: ListOptions): Promise<void> => {
  const { value: found } = await requireTables(platform)
    .database.readModels()
    .listFindings({
      workspaceId: workspace ?? null,
      overdueBefore: new Date(clock() - sharedLimits.reconcileGraceMs),
      limit: cliLimits.findingsPerKindMax,
    })
  const records = found.findings.map(({ kind, workspaceId, id, time, amountPicos, detail }) => ({
    finding: kind,
    workspace: workspaceId,
    id,
    at: time.toISOString(),
    amount: formatUsd(amountPicos),
    detail,
  }))
  printRecords(records, options)
  if (!found.isComplete)
    console.error(`… there are more: these are the newest ${cliLimits.findingsPerKindMax} of a kind`)
}

export const registerFindings = (program: Command, configOf: ConfigOf): void => {
  const findings = program.command('findings').description('what waits for an operator')
  findings
    .command('list', { isDefault: true })
    .description('the newest of each kind, as the page and the read API show them (default)')
    .option('--workspace <id>', 'of one workspace alone')
    .option('--json', 'one JSON object a line', false)
    .action(async (options: ListOptions, command: Command) => {
      const runtime = createRuntime('warn')
      await withPlatform(configOf(command), runtime, {}, (platform) => list(platform, runtime, options))
    })
  const decisions = [
    [
      'confirm',
      'charge what an upstream reported and cannot be, in place of the reservation: of a request, or of a video task',
      confirm,
      [
        new Option(
          '--units <number>',
          'of a video whose deduction is missing or no number; without it the estimate remains',
        ),
      ],
    ],
    ['refund', 'take back a charge whose edge ended without a shutdown, so that its delivery is unknown', refund, []],
  ] as const
  for (const [name, description, run, own] of decisions) {
    const decision = findings.command(`${name} <id>`).description(description)
    for (const option of own) decision.addOption(option)
    decision
      .option('--json', 'one JSON object a line', false)
      .action(async (id: string, options: OutputOptions, command: Command) => {
        const runtime = createRuntime('warn')
        const operator = resolveOperator(command.optsWithGlobals<{ actor?: string }>().actor)
        await withPlatform(configOf(command), runtime, {}, (platform) => run(platform, id, operator, options))
      })
  }
}
