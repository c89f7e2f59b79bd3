import { type Command, Option } from 'commander'
import type { FoldSource } from '../audit/fold-log.ts'
import { readStatementFromLog, readStatementFromTables, type Statement } from '../audit/statement.ts'
import { StatementComparison, StatementTotals } from '../audit/statement-totals.ts'
import { hasWorkspace } from '../projections/accounts/queries.ts'
import type { StatementRange } from '../projections/statements/queries.ts'
import type { ConfigOf } from './audit-command.ts'
import { cliLimits } from './command-limits.ts'
import { parseInstantOption } from './option-values.ts'
import { type Platform, requireTables } from './platform.ts'
import { publicKeyOption } from './public-keys.ts'
import { foldWithProgress, readFromSource, type SourceOptions } from './read-source.ts'
import { CommandError, exitCodes, isBrokenPipe, UsageError } from './report.ts'
import { createRuntime } from './runtime.ts'
import { createCsvStatement, jsonStatement, type StatementFormat, tableStatement } from './statement-formats.ts'

interface Options extends SourceOptions {
  readonly from?: Date
  readonly to?: Date
  readonly check: boolean
  readonly csv: boolean
}

const formatOf = ({ json, csv: asCsv }: Options): StatementFormat => {
  if (json) return jsonStatement
  return asCsv ? createCsvStatement() : tableStatement
}

const rangeOf = ({
  from = null,
  to = null,
}: {
  readonly from?: Date | null
  readonly to?: Date | null
}): StatementRange => {
  if (from !== null && to !== null && from > to) throw new UsageError('--from is after --to')
  if (from !== null && from.getTime() === to?.getTime()) {
    const instant = from.toISOString()
    throw new UsageError(
      `--to is the first instant no longer in the statement, so from ${instant} to ${instant} there is nothing: for one day, --to is the day after`,
    )
  }
  return { from, to }
}

/** Resolves when the text is written: waits for a slow reader, but not for one that has closed the pipe. */
const write = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (fault) => (fault && !isBrokenPipe(fault) ? reject(fault) : resolve()))
  })

/** Null where the statement itself goes to the terminal: the bar would be among its lines. */
const barName = (what: string): string | null => (process.stdout.isTTY ? null : what)

interface StatementRequest {
  readonly workspaceId: string
  readonly range: StatementRange
  readonly format: StatementFormat
}

/** Writes a statement as it is read, and adds it up; returns the first difference from the other, if given. */
const writeStatement = async (
  statement: Statement,
  { workspaceId, range, format }: StatementRequest,
  other: Statement | null,
): Promise<string | null> => {
  const { opening, sequence } = statement
  const totals = new StatementTotals(opening)
  const comparison = other === null ? null : new StatementComparison(opening, other)
  let text = format.head({ workspaceId, ...range, opening })
  for await (const entry of statement.entries) {
    totals.take(entry)
    await comparison?.take(entry)
    text += format.entry(entry)
    if (text.length < cliLimits.statementChunkCharacters) continue
    await write(text)
    text = ''
  }
  const isFinal = statement.isFinal()
  await write(text + format.foot({ closing: totals.closing, sums: totals.sums, isFinal, sequence }))
  return comparison === null ? null : comparison.end(isFinal)
}

/** The tables' statement, compared with one that is folded from the log up to the same frame. */
const writeChecked = (statement: Statement, shown: StatementRequest, { log }: Platform): Promise<string | null> =>
  foldWithProgress(barName('check'), log, async (whole) => {
    const toSame: FoldSource = { ...whole, to: statement.sequence }
    return writeStatement(statement, shown, await readStatementFromLog(toSame, shown.workspaceId, shown.range))
  })

const writeFromTables = async (platform: Platform, shown: StatementRequest, check: boolean): Promise<string | null> => {
  const { db } = requireTables(platform).database
  if (!(await hasWorkspace(db, shown.workspaceId))) throw new CommandError('no such workspace')
  const statement = await readStatementFromTables(db, shown.workspaceId, shown.range)
  return check ? writeChecked(statement, shown, platform) : writeStatement(statement, shown, null)
}

const reportCheck = (difference: string | null): void => {
  if (difference !== null) process.exitCode = exitCodes.failed
  console.error(
    difference === null
      ? 'checked: every movement and both balances are what the log makes of them'
      : `the statement is not what the log makes of it: ${difference}`,
  )
}

/** `gateway statement`: exit code 1 where it does not add up, or differs from the log. */
export const registerStatement = (program: Command, configOf: ConfigOf): void => {
  program
    .command('statement <workspace>')
    .description('opening balance, every movement and closing balance of a wallet')
    .option('--from <instant>', 'the first instant in it (default: the beginning)', parseInstantOption)
    .option(
      '--to <instant>',
      'exclusive: the first instant no longer in it, such as the day after the last (default: none)',
      parseInstantOption,
    )
    .addOption(new Option('--csv', 'RFC 4180').default(false).conflicts('json'))
    .option('--json', 'one JSON object a line', false)
    .addOption(
      new Option('--check', 'fold the log, and hold every movement to what that makes')
        .default(false)
        .conflicts(['fromLog', 'archive']),
    )
    .option('--from-log', 'read the whole log; no database is needed', false)
    .option('--archive <folder>', "read an archive in the log's place; no servers are needed")
    .addOption(publicKeyOption('archive'))
    .action(async (workspaceId: string, options: Options, command: Command) => {
      const shown = { workspaceId, range: rangeOf(options), format: formatOf(options) }
      const difference = await readFromSource(
        barName('statement'),
        () => configOf(command),
        createRuntime('warn'),
        options,
        {
          tables: (platform) => writeFromTables(platform, shown, options.check),
          log: async (log) => writeStatement(await readStatementFromLog(log, workspaceId, shown.range), shown, null),
        },
      )
      if (options.check) reportCheck(difference)
    })
}
