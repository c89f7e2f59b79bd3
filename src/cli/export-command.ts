import { type Command, Option } from 'commander'
import { type JournalFormat, readDoubleEntryJournal } from '../audit/double-entry.ts'
import { readFocus } from '../audit/focus.ts'
import { atCheckpoint } from '../projections/checkpoint/queries.ts'
import type { Snapshot } from '../projections/schema/tables.ts'
import type { ConfigOf } from './audit-command.ts'
import { catchUp } from './catch-up.ts'
import { createMonthOption } from './option-values.ts'
import { requireTables, withPlatform } from './platform.ts'
import { createRuntime } from './runtime.ts'

interface Options {
  readonly month: string
  readonly format: JournalFormat
}

type ReadExport = (trx: Snapshot, sequence: number) => Promise<readonly string[]>

/** `gateway export`: for hledger, beancount, and what reads FOCUS. */
export const registerExport = (program: Command, configOf: ConfigOf): void => {
  const print = async (command: Command, read: ReadExport): Promise<void> => {
    const runtime = createRuntime('warn')
    await withPlatform(configOf(command), runtime, { readOnly: true }, async (platform) => {
      await catchUp(platform, runtime)
      const { value } = await atCheckpoint(requireTables(platform).database.db, read)
      process.stdout.write(value.join(''))
    })
  }
  const exporting = program.command('export').description('a month for other programs')
  exporting
    .command('journal')
    .description('the wallets of a UTC month in double entry, with their balances asserted')
    .addOption(createMonthOption())
    .addOption(new Option('--format <format>').choices(['hledger', 'beancount']).makeOptionMandatory())
    .action(({ month, format }: Options, command: Command) =>
      print(command, (trx, sequence) => readDoubleEntryJournal(trx, sequence, month, format)),
    )
  exporting
    .command('focus')
    .description('what a UTC month cost, as CSV of FOCUS 1.0')
    .addOption(createMonthOption())
    .action(({ month }: Options, command: Command) => print(command, (trx) => readFocus(trx, month)))
}
