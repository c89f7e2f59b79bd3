import { type Command, Option } from 'commander'
import { collectEvidence } from '../audit/collect-evidence.ts'
import { confirmReported, summarizeCharge } from '../audit/confirm.ts'
import { appliedAdjustments, type Evidence } from '../audit/evidence.ts'
import { findUnknownDelivery } from '../audit/unknown-delivery.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import { isUnits } from '../domain/video/settle.ts'
import type { WalletRefusal } from '../domain/wallet/decide.ts'
import { needsApproval } from '../domain/wallet/decide-adjustment.ts'
import { adjustmentKey } from '../domain/wallet/evolve.ts'
import { undeliveredFact } from '../domain/wallet/undelivered.ts'
import type { AdjustmentPosted } from '../events/types.ts'
import { WalletCommandHandler } from '../log/wallet-command-handler.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { askYes } from './ask.ts'
import type { ConfigOf } from './audit-command.ts'
import { cliLimits } from './command-limits.ts'
import { resolveOperator } from './operator.ts'
import { openTail, type Platform, requireTables, withPlatform } from './platform.ts'
import { foldWithProgress } from './read-source.ts'
import { CommandError, type OutputOptions, printRecords, UsageError } from './report.ts'
import { createRuntime, type Runtime } from './runtime.ts'

interface ListOptions extends OutputOptions {
  readonly workspace?: string
}

interface ConfirmOptions extends OutputOptions {
  readonly units?: string | null
  readonly yes?: boolean
}

interface Session {
  readonly platform: Platform
  readonly operator: string
  readonly approvalAbovePicos: bigint | null
}

interface ChargeCorrection {
  readonly adjustment: AdjustmentPosted
  readonly charge: ReturnType<typeof summarizeCharge>
}

const correctionError = (
  refused: WalletRefusal,
  { corrects, adjustmentId, amount }: AdjustmentPosted,
): CommandError => {
  switch (refused.reason) {
    case 'adjustment_differs':
      return new CommandError(
        `${adjustmentId} has posted ${formatUsd(refused.postedPicos)} USD before, not ${amount}: change it by \`gateway adjust --of ${adjustmentId}\``,
      )
    case 'charge_exceeded':
      return new CommandError(
        `of the charge of ${corrects}, at most ${formatUsd(refused.leftPicos)} USD is left to give back, not ${amount}: \`gateway explain ${corrects}\` lists its corrections`,
      )
    case 'charge_corrected':
      return new CommandError(`${corrects} was corrected in the meantime, nothing is posted: run the command again`)
    default:
      return new CommandError(`the wallet refused ${adjustmentId}: ${refused.reason}`)
  }
}

const postOnce = async (platform: Platform, correction: ChargeCorrection, options: OutputOptions): Promise<void> => {
  const { adjustment, charge } = correction
  const { workspaceId, adjustmentId, amount, corrects } = adjustment
  const tail = await openTail(platform)
  try {
    const isPosted = tail.ledger.wallets.get(workspaceId)?.references.has(adjustmentKey(adjustmentId)) === true
    if (!isPosted) console.error(`posting ${amount} USD to ${workspaceId} for ${corrects}`)
    const { chargedPicos, correctedPicos } = charge
    const command = { type: 'CorrectCharge', adjustment, chargedPicos, correctedPicos } as const
    const outcome = await new WalletCommandHandler(platform.log, tail).execute(workspaceId, command)
    if ('refused' in outcome) throw correctionError(outcome.refused, adjustment)
    const posted = outcome.facts.length === 0 ? 'before' : 'now'
    printRecords([{ charge: corrects, workspace: workspaceId, amount, posted }], options)
  } finally {
    await tail.stop()
  }
}

interface Confirmation extends ChargeCorrection {
  readonly id: string
  readonly units: string | null
  readonly yes: boolean
}

const assertUnsettled = ({ id, charge: { reconciledBy, isGivenBack } }: Confirmation): void => {
  const list = `\`gateway explain ${id}\` lists its corrections`
  if (reconciledBy !== null)
    throw new CommandError(`${id} was corrected to an invoice by ${reconciledBy}, and is not confirmed again: ${list}`)
  if (isGivenBack) throw new CommandError(`the charge of ${id} was given back whole, and is not confirmed: ${list}`)
}

const assertPermitted = (confirmation: Confirmation, abovePicos: bigint | null): void => {
  const { id, adjustment, charge, units, yes } = confirmation
  const { workspaceId, amount } = adjustment
  const picos = parseUsd(amount)
  if (units !== null && charge.chargedPicos - picos > cliLimits.typedEstimatesMax * charge.chargedPicos && !yes)
    throw new CommandError(
      `${units} units are far beyond the estimate of ${id} and would post ${amount} USD: add --yes if they are meant`,
    )
  if (abovePicos !== null && needsApproval(picos, abovePicos))
    throw new CommandError(
      `${amount} USD is above adjustments.approval_above (${formatUsd(abovePicos)}): propose it to another administrator by \`gateway adjust ${workspaceId} ${amount} --of ${id} --reason correction --reference <yours>\``,
    )
}

const assertMeant = async ({ adjustment, yes }: Confirmation): Promise<void> => {
  const { workspaceId, amount, corrects, note } = adjustment
  if (yes || parseUsd(amount) === 0n) return
  const posting = `${amount} USD to ${workspaceId} for ${corrects}`
  if (!process.stdin.isTTY)
    throw new UsageError(`it would post ${posting}, and there is no terminal to ask on: add --yes to post. ${note}`)
  if (!(await askYes(`${note}\nPost ${posting}?`))) throw new CommandError('nothing is posted')
}

const collect = async (platform: Platform, title: string, id: string): Promise<Evidence> =>
  foldWithProgress(title, platform.log, (log) => collectEvidence(log, id))

const findPosted = (evidence: Evidence, adjustmentId: string): AdjustmentPosted | undefined =>
  appliedAdjustments(evidence).find(({ event }) => event.data.adjustmentId === adjustmentId)?.event.data

/** What is posted is read from the log alone. */
const confirm = async (
  { platform, operator, approvalAbovePicos }: Session,
  id: string,
  { units = null, yes = false, ...options }: ConfirmOptions,
): Promise<void> => {
  if (units !== null && !isUnits(units))
    throw new CommandError(`--units must be a number such as 4.5, got \`${units}\``)
  const evidence = await collect(platform, 'findings confirm', id)
  if (evidence.events.length === 0) throw new CommandError(`no request and no task has the id ${id}`)
  const fact = confirmReported(evidence, operator, units)
  const how = units === null ? 'a confirmation' : 'a number of units'
  if (fact === null) throw new CommandError(`nothing of ${id} waits for ${how}`)
  const confirmation = { id, adjustment: fact.data, charge: summarizeCharge(evidence), units, yes }
  if (findPosted(evidence, fact.data.adjustmentId) === undefined) {
    assertUnsettled(confirmation)
    assertPermitted(confirmation, approvalAbovePicos)
    await assertMeant(confirmation)
  }
  await postOnce(platform, confirmation, options)
}

/** Takes back what is left of a charge whose delivery is unknown, as a repeat with its idempotency key does, and not again after that. */
const refund = async ({ platform, operator }: Session, id: string, options: OutputOptions): Promise<void> => {
  const found = await foldWithProgress('findings refund', platform.log, (log) => findUnknownDelivery(log, id))
  if (found === null)
    throw new CommandError(`the delivery of ${id} is not in doubt: \`gateway findings\` lists those that are`)
  const undelivered = undeliveredFact(found.bill.data, found.spender)
  const note = 'The edge ended without a shutdown when the answer was charged; an operator took the charge back.'
  const evidence = await collect(platform, 'findings refund', id)
  const charge = summarizeCharge(evidence)
  const leftPicos = charge.chargedPicos - charge.correctedPicos
  const posted = findPosted(evidence, undelivered.data.adjustmentId)?.amount
  const amount = posted ?? (leftPicos > 0n ? formatUsd(leftPicos) : undelivered.data.amount)
  await postOnce(platform, { adjustment: { ...undelivered.data, amount, note, by: operator }, charge }, options)
}

const list = async (platform: Platform, { clock }: Runtime, { workspace, ...options }: ListOptions): Promise<void> => {
  const { value: found } = await requireTables(platform)
    .database.readModels()
    .listFindings({
      workspaceId: workspace ?? null,
      overdueBefore: new Date(clock() - sharedLimits.reconcileGraceMs),
      limit: cliLimits.findingsPerKindMax,
    })
  const records = found.findings.map(({ kind, workspaceId, id, time, amountPicos, isSettled, detail }) => ({
    finding: kind,
    workspace: workspaceId,
    id,
    at: time.toISOString(),
    amount: formatUsd(amountPicos),
    settled: isSettled,
    detail,
  }))
  printRecords(records, options)
  if (records.length === 0) console.error('there are none')
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
        new Option('--yes', 'post without asking, and units that are more than three times the estimate'),
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
        const config = configOf(command)
        const { approvalAbovePicos } = config
        await withPlatform(config, runtime, {}, (platform) =>
          run({ platform, operator, approvalAbovePicos }, id, options),
        )
      })
  }
}
