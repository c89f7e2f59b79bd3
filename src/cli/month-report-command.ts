import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseMonth } from '../domain/instant.ts'
import { formatCsvLine } from '../encoding/csv.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { atCheckpoint } from '../projections/checkpoint/queries.ts'
import {
  parseReportGroup,
  ReportFault,
  type ReportGroup,
  type ReportRow,
  readReport,
  reportGroups,
  sumRows,
} from '../projections/statements/report.ts'
import { reportRecord } from '../projections/statements/report-record.ts'
import { requireKnownTags } from '../projections/usage/known-tags.ts'
import type { ConfigOf } from './audit-command.ts'
import { escapeControls } from './explanation-text.ts'
import { createMonthOption, requireBegun } from './option-values.ts'
import { requireTables, withPlatform } from './platform.ts'
import { CommandError, printRecords, UsageError } from './report.ts'
import { createRuntime } from './runtime.ts'

interface Options {
  readonly month: string
  readonly groupBy: readonly ReportGroup[]
  readonly format: 'table' | 'csv' | 'json'
}

/** Throws InvalidArgumentError. */
const parseGroups = (text: string): readonly ReportGroup[] =>
  text.split(',').map((name, place, names) => {
    const group = parseReportGroup(name)
    if (group === null || names.indexOf(name) < place)
      throw new InvalidArgumentError(
        `groups are ${reportGroups.join(', ')} and tag:<name>, each once, with commas between; got \`${name}\``,
      )
    return group
  })

const recordOf = (groupBy: readonly ReportGroup[], row: ReportRow): Readonly<Record<string, string | number>> => {
  const { group, ...figures } = reportRecord(groupBy, row)
  return { ...group, ...figures }
}

type Records = readonly ReturnType<typeof recordOf>[]

const printTable = (records: Records, total: ReportRow, groupBy: readonly ReportGroup[]): void => {
  const named = { ...total, group: groupBy.map((_, place) => (place === 0 ? 'total' : '-')) }
  const shown = [...records, recordOf(groupBy, named)].map((record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, typeof value === 'string' ? escapeControls(value) : value]),
    ),
  )
  printRecords(shown, { json: false })
}

const printCsv = (records: Records, groupBy: readonly ReportGroup[]): void => {
  const columns = [...groupBy, 'requests', 'charges', 'corrections', 'fees', 'net']
  const lines = [columns, ...records.map((record) => columns.map((column) => record[column]!))]
  process.stdout.write(lines.map(formatCsvLine).join(''))
}

const printReport = (rows: readonly ReportRow[], { groupBy, format }: Options): void => {
  const records = rows.map((row) => recordOf(groupBy, row))
  if (format === 'csv') printCsv(records, groupBy)
  else if (format === 'json') printRecords(records, { json: true })
  else printTable(records, sumRows(rows), groupBy)
}

/** Throws UsageError. */
const checkTags = (rows: readonly ReportRow[], groupBy: readonly ReportGroup[], tagNames: readonly string[]): void => {
  try {
    requireKnownTags(rows, { groupBy }, tagNames)
  } catch (fault) {
    throw fault instanceof GatewayError ? new UsageError(fault.message, { cause: fault }) : fault
  }
}

/** `gateway report`: exit code 1 where its total is not what the statements come to. */
export const registerMonthReport = (program: Command, configOf: ConfigOf): void => {
  program
    .command('report')
    .description('charges, corrections and fees of all workspaces in a UTC month, checked against their statements')
    .addOption(createMonthOption())
    .addOption(
      new Option('--group-by <groups>', `${reportGroups.join(', ')} or tag:<name>, with commas between`)
        .argParser(parseGroups)
        .default(['workspace', 'model'], 'workspace,model'),
    )
    .addOption(new Option('--format <format>').choices(['table', 'csv', 'json']).default('table'))
    .action(async (options: Options, command: Command) => {
      const runtime = createRuntime('warn')
      requireBegun(options.month, runtime.clock())
      const config = configOf(command)
      await withPlatform(config, runtime, {}, async (platform) => {
        const { db } = requireTables(platform).database
        try {
          const { sequence, value } = await atCheckpoint(db, (trx) =>
            readReport(trx, { ...parseMonth(options.month)!, groupBy: options.groupBy }),
          )
          checkTags(value.rows, options.groupBy, config.tagNames)
          printReport(value.rows, options)
          console.error(
            `checked: this is what the statements of ${value.workspaces} workspaces come to, with the log followed to frame ${sequence}`,
          )
        } catch (fault) {
          throw fault instanceof ReportFault ? new CommandError(fault.message, { cause: fault }) : fault
        }
      })
    })
}
