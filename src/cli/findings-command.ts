import type { Command } from 'commander'
import { confirmReported } from '../audit/confirm.ts'
import { adjustmentKey } from '../domain/wallet/evolve.ts'
import type { ConfigOf } from './audit-command.ts'
import { evidenceByTables } from './explain-command.ts'
import { resolveOperator } from './operator.ts'
import { openTail, type Platform, withPlatform } from './platform.ts'
import { CommandError, type OutputOptions, printRecords } from './report.ts'
import { createRuntime, type Runtime } from './runtime.ts'

const confirm = async (
  platform: Platform,
  runtime: Runtime,
  id: string,
  operator: string,
  options: OutputOptions,
): Promise<void> => {
  const fact = confirmReported(await evidenceByTables(platform, id), operator)
  if (fact === null) throw new CommandError(`nothing of ${id} waits for a confirmation`)
  const { workspaceId, adjustmentId, amount } = fact.data
  const tail = await openTail(platform, runtime)
  try {
    const isPosted = tail.ledger.wallets.get(workspaceId)?.references.has(adjustmentKey(adjustmentId)) === true
    if (!isPosted) await platform.log.postToWallet(workspaceId, [fact])
    printRecords([{ charge: id, workspace: workspaceId, amount, posted: isPosted ? 'before' : 'now' }], options)
  } finally {
    await tail.stop()
  }
}

export const registerFindings = (program: Command, configOf: ConfigOf): void => {
  program
    .command('findings')
    .description('what waits for an operator')
    .command('confirm <id>')
    .description(
      'charge what an upstream reported and cannot be, in place of the reservation: of a request, or of a video task',
    )
    .option('--json', 'one JSON object a line', false)
    .action(async (id: string, options: OutputOptions, command: Command) => {
      const runtime = createRuntime('warn')
      const operator = resolveOperator(command.optsWithGlobals<{ actor?: string }>().actor)
      await withPlatform(configOf(command), runtime, {}, (platform) =>
        confirm(platform, runtime, id, operator, options),
      )
    })
}
