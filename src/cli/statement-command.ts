import { type Command, InvalidArgumentError, Option } from 'commander'
import type { FoldSource } from '../audit/fold-log.ts'
import { readStatementFromLog, readStatementFromTables, type Statement } from '../audit/statement.ts'
import { jsonStatement, type StatementFormat } from '../audit/statement-lines.ts'
import { StatementComparison, StatementTotals } from '../audit/statement-totals.ts'
import { parseRangeEnd } from '../domain/instant.ts'
import { hasWorkspace } from '../projections/accounts/queries.ts'
import type { StatementEntry, StatementRange } from '../projections/statements/queries.ts'
import type { ConfigOf } from './audit-command.ts'
import { cliLimits } from './command-limits.ts'
import { parseInstantOption } from './option-values.ts'
import { type Platform, requireTables } from './platform.ts'
import { publicKeyOption } from './public-keys.ts'
import { foldWithProgress, readFromSource, type SourceOptions } from './read-source.ts'
import { CommandError, exitCodes, UsageError, writeOutput } from './report.ts'
import { createRuntime } from './runtime.ts'
import { createCsvStatement, tableStatement } from './statement-formats.ts'

interface Options extends SourceOptions {
  readonly from?: Date
  readonly to?: Date
  readonly check: boolean
  readonly csv: boolean
  readonly holds: boolean
}

const formatOf = ({ json, csv: asCsv }: Options): StatementFormat => {
  if (json) return jsonStatement
  return asCsv ? createCsvStatement() : tableStatement
}

/** The first instant after the range that ends there. Throws InvalidArgumentError. */
const parseRangeEndOption = (text: string): Date => {
  const end = parseRangeEnd(text)
  if (end === null)
    throw new InvalidArgumentError(
      'a day in UTC such as 2026-03-31, which is the last one, or an instant such as 2026-03-01T12:00:00Z, which is excluded',
    )
  return end
}

const rangeOf = ({
  from = null,
  to = null,
}: {
  readonly from?: Date | null
  readonly to?: Date | null
}): StatementRange => {
  if (from !== null && to !== null && from >= to)
    throw new UsageError(
      `the statement must end after it begins, got from ${from.toISOString()} up to ${to.toISOString()}, which is not in it`,
    )
  return { from, to }
}

const isHoldMovement = ({ kind }: StatementEntry): boolean => kind === 'hold' || kind === 'release'

/** Null where the statement itself goes to the terminal: the bar would be among its lines. */
const barName = (what: string): string | null => (process.stdout.isTTY ? null : what)

interface StatementRequest {
  readonly workspaceId: string
  readonly range: StatementRange
  readonly format: StatementFormat
  /** Whether movements that only set money aside or give it back are shown. They are checked in any case. */
  readonly holds: boolean
}

/** Writes a statement as it is read, and adds it up; returns the first difference from the other, if given. */
const writeStatement = async (
  statement: Statement,
  { workspaceId, range, format, holds }: StatementRequest,
  other: Statement | null,
): Promise<string | null> => {
  const { opening, sequence } = statement
  const totals = new StatementTotals(opening)
  const comparison = other === null ? null : new StatementComparison(opening, other)
  let text = format.head({ workspaceId, ...range, opening })
  for await (const entry of statement.entries) {
    totals.take(entry)
    await comparison?.take(entry)
    if (holds || !isHoldMovement(entry)) text += format.entry(entry)
    if (text.length < cliLimits.outputChunkCharacters) continue
    await writeOutput(text)
    text = ''
  }
  const isFinal = statement.isFinal()
  await writeOutput(text + format.foot({ closing: totals.closing, sums: totals.sums, isFinal, sequence }))
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
    .option('--from <day>', 'the first day in UTC, or the first instant (default: the beginning)', parseInstantOption)
    .option(
      '--to <day>',
      'the last day in UTC, which is included, or the first instant that is not (default: none)',
      parseRangeEndOption,
    )
    .option('--holds', 'also what was set aside and given back', false)
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
      const shown = { workspaceId, range: rangeOf(options), format: formatOf(options), holds: options.holds }
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
