/** What finance reads of a million bills, each in a process of its own: reports of all of them, and the first of their months. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { defaultSchema } from '../../../src/adapters/postgres/connection.ts'
import { openDatabase, patientPool } from '../../../src/adapters/postgres/database.ts'
import { readDoubleEntryJournal } from '../../../src/audit/double-entry.ts'
import { readFocus } from '../../../src/audit/focus.ts'
import { readPeriodJournal } from '../../../src/audit/period-journal.ts'
import { parseMonth, parseRangeEnd } from '../../../src/domain/instant.ts'
import { atCheckpoint } from '../../../src/projections/checkpoint/queries.ts'
import type { Snapshot } from '../../../src/projections/schema/tables.ts'
import { type ReportGroup, readReport } from '../../../src/projections/statements/report.ts'
import { peakMemoryBytes } from '../procfs.ts'
import { progress } from '../run.ts'
import { megabytes, table, whole } from '../table.ts'
import { firstDayMs } from './generated-log.ts'

const month = new Date(firstDayMs).toISOString().slice(0, 'YYYY-MM'.length)
const range = parseMonth(month)!
const everything = { from: new Date(firstDayMs), to: parseRangeEnd('2100-01-01')! }

const countLines = async (pieces: AsyncIterable<string>): Promise<number> => {
  let lines = 0
  for await (const piece of pieces) lines += piece.split('\n').length - 1
  return lines
}

const report =
  (...groupBy: readonly ReportGroup[]) =>
  async (trx: Snapshot): Promise<number> =>
    (await readReport(trx, { ...everything, groupBy })).rows.length

const inMonth = (column: string): string =>
  `${column} >= '${range.from.toISOString()}' and ${column} < '${range.to.toISOString()}'`
const bills = `select (select count(*) from ledger.usage_entries) + (select count(*) from ledger.task_charges)`
const entries = `select count(*) from ledger.wallet_entries where ${inMonth('time')}`
const billLines = `select
  (select sum(json_array_length(lines)) from ledger.usage_entries where ${inMonth('time')}) +
  (select coalesce(sum(json_array_length(t.lines)), 0) from ledger.task_charges c join ledger.tasks t using (task_id) where ${inMonth('t.finished_at')})`

interface Step {
  /** Resolves with the rows that were written. */
  readonly run: (trx: Snapshot) => Promise<number>
  readonly what: 'bills' | 'entries' | 'bill lines'
  /** How many of them are read. */
  readonly count: string
}

export const reportStep = 'report by workspace and model'
export const focusStep = 'export focus'

const steps: Readonly<Record<string, Step>> = {
  [reportStep]: { run: report('workspace', 'model'), what: 'bills', count: bills },
  'report by day and tag': { run: report('day', 'tag:team'), what: 'bills', count: bills },
  'totals and digest of close': {
    run: async (trx) => (await readPeriodJournal(trx, month, 1)).totals.workspaces,
    ...{ what: 'entries', count: entries },
  },
  'export journal': {
    run: (trx) => countLines(readDoubleEntryJournal(trx, month, 'hledger', [])),
    ...{ what: 'entries', count: entries },
  },
  [focusStep]: { run: (trx) => countLines(readFocus(trx, month)), what: 'bill lines', count: billLines },
}

interface Measured {
  readonly seconds: number
  readonly written: number
  readonly peakBytes: number | null
}

const measure = async (url: string, name: string): Promise<Measured> => {
  const database = openDatabase(url, defaultSchema, patientPool)
  const fromMs = performance.now()
  const { value: written } = await atCheckpoint(database.db, (trx) => steps[name]!.run(trx))
  const seconds = (performance.now() - fromMs) / 1_000
  await database.close()
  return { seconds, written, peakBytes: peakMemoryBytes(process.pid) }
}

export interface MonthReport extends Measured {
  readonly name: string
  readonly what: Step['what']
  readonly read: number
}

const thisFile = fileURLToPath(import.meta.url)

export const measureMonth = async (url: string, stack: AsyncDisposableStack): Promise<readonly MonthReport[]> => {
  const client = stack.adopt(new pg.Client({ connectionString: url }), (each) => each.end())
  await client.connect()
  const reports: MonthReport[] = []
  for (const [name, { what, count }] of Object.entries(steps)) {
    progress(`measuring ${name}`)
    const { rows } = await client.query<{ count: string }>(`select (${count})::text as count`)
    const { stdout } = await promisify(execFile)(process.execPath, [thisFile, '--run', url, name])
    reports.push({ name, what, read: Number(rows[0]!.count), ...(JSON.parse(stdout) as Measured) })
  }
  return reports
}

export const readPerSecond = ({ read, seconds }: MonthReport): number => read / seconds

export const monthText = (reports: readonly MonthReport[]): string =>
  table(
    ['month-end', 'read', '', 'rows written', 'seconds', 'read/s', 'peak'],
    reports.map((each) => [
      ...[each.name, each.what, whole(each.read), whole(each.written), each.seconds.toFixed(2)],
      ...[whole(readPerSecond(each)), megabytes(each.peakBytes)],
    ]),
  )

if (process.argv[2] === '--run') {
  const [url, name] = process.argv.slice(3)
  process.stdout.write(JSON.stringify(await measure(url!, name!)))
}
