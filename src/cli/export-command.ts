import { type Command, Option } from 'commander'
import { readDoubleEntryJournal } from '../audit/double-entry.ts'
import { readFocus } from '../audit/focus.ts'
import { parseMonth } from '../domain/instant.ts'
import { atCheckpoint } from '../projections/checkpoint/queries.ts'
import type { Snapshot } from '../projections/schema/tables.ts'
import { ReportFault } from '../projections/statements/report.ts'
import type { ConfigOf } from './audit-command.ts'
import { catchUp } from './catch-up.ts'
import { cliLimits } from './command-limits.ts'
import { createMonthOption } from './option-values.ts'
import { requireTables, withPlatform } from './platform.ts'
import { readProviderCosts } from './provider-costs.ts'
import { collectOption } from './public-keys.ts'
import { CommandError, writeOutput } from './report.ts'
import { createRuntime } from './runtime.ts'

interface Options {
  readonly month: string
  readonly format: Parameters<typeof readDoubleEntryJournal>[3]
  readonly invoice: readonly string[]
}

type ReadExport = (trx: Snapshot, sequence: number) => AsyncIterable<string>

/** `gateway export`: for hledger, beancount, and what reads FOCUS. */
export const registerExport = (program: Command, configOf: ConfigOf): void => {
  const print = async (command: Command, read: ReadExport): Promise<void> => {
    const runtime = createRuntime('warn')
    await withPlatform(configOf(command), runtime, { readOnly: true }, async (platform) => {
      await catchUp(platform, runtime)
      const written = atCheckpoint(requireTables(platform).database.db, async (trx, sequence) => {
        let text = ''
        for await (const piece of read(trx, sequence)) {
          text += piece
          if (text.length < cliLimits.outputChunkCharacters) continue
          await writeOutput(text)
          text = ''
        }
        await writeOutput(text)
      })
      await written.catch((fault) => {
        throw fault instanceof ReportFault ? new CommandError(fault.message, { cause: fault }) : fault
      })
    })
  }
  const exporting = program.command('export').description('a month for other programs')
  exporting
    .command('journal')
    .description('the wallets of a UTC month in double entry, with their balances asserted')
    .addOption(createMonthOption())
    .addOption(new Option('--format <format>').choices(['hledger', 'beancount']).makeOptionMandatory())
    .option(
      '--invoice <provider:format:file>',
      "a provider's invoice, as `reconcile` reads it, whose costs are accrued; may be repeated",
      collectOption,
      [],
    )
    .action(async ({ month, format, invoice }: Options, command: Command) => {
      const costs = await readProviderCosts(invoice, parseMonth(month)!)
      await print(command, (trx, sequence) => readDoubleEntryJournal(trx, sequence, month, format, costs))
    })
  exporting
    .command('focus')
    .description('what a UTC month cost, as CSV of FOCUS 1.2 and 1.0')
    .addOption(createMonthOption())
    .action(({ month }: Options, command: Command) => print(command, (trx) => readFocus(trx, month)))
}
