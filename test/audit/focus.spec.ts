import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import t from 'tap'
import { readFocus } from '../../src/audit/focus.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { atCheckpoint } from '../../src/projections/checkpoint/queries.ts'
import type { Snapshot } from '../../src/projections/schema/tables.ts'
import { netPicos, readReport, sumRows } from '../../src/projections/statements/report.ts'
import { adjusted, credited, opened, planSubscribed, routed, used } from '../roles/projector/facts.ts'
import { openProjected, project } from '../roles/projector/projecting.ts'
import { parseCsv } from '../support/csv.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'

/** `make journals` names the folder of focus-validator. */
const lines = [
  { item: 'input', quantity: 100, unitPrice: '0.0000055', amount: '0.00055' },
  { item: 'output', quantity: 7, unitPrice: '0.000001', amount: '0.000007' },
] as const
const billed = (id: string) => used(id, { lines: [...lines], total: '0.000557' })
const programs = process.env['FOCUS_PROGRAMS']
const times = ['2026-02-20', '2026-02-20', '2026-02-21', '2026-03-02', '2026-03-02', '2026-03-03', '2026-04-01']
const log = new MemoryLog({ timeOf: (sequence) => `${times[sequence - 1] ?? '2026-04-02'}T12:00:00.000Z` })
await log.append([opened()])
await log.postToWallet('acme', [credited('first', '10')])
await log.append([routed('one'), billed('one')])
const tags = { cost_center: '7', team: 'a "quoted", \0 one', unattributed: 'unattributed' }
await log.append([
  routed('two', { tags }),
  billed('two'),
  routed('three'),
  billed('three'),
  routed('four', { tags }),
  billed('four'),
])
await log.postToWallet('acme', [
  planSubscribed('sub-1', ['2026-03-01', '2026-04-01'], { price: '2', includedCredit: '0' }),
])
const refund = adjusted('refund', '0.0001')
await log.postToWallet('acme', [{ ...refund, data: { ...refund.data, corrects: 'two' } }])
await log.append([routed('later'), billed('later')])
const projected = await openProjected(t, await startPostgres(t))
await project(log, projected.store, 3)
const { db } = projected.database

const csv = (await atCheckpoint(db, async (trx) => text(readFocus(trx, '2026-03')))).value

type Version = Readonly<Record<string, { readonly nullable: boolean; readonly type: string }>>
const published: { readonly '1.0': Version; readonly '1.2': Version } = JSON.parse(
  await readFile(new URL('../reference/focus-columns.json', import.meta.url), 'utf8'),
)
const [head = [], ...rows] = parseCsv(csv)
const records = rows.map((row) => Object.fromEntries(head.map((column, place) => [column, row[place] ?? ''])))

t.test('its columns are those of FOCUS 1.2, which has those of 1.0, and five former names', async (t) => {
  const columns = Object.keys(published['1.2'])
  t.same(head.slice(0, columns.length), columns)
  t.equal(head.length, columns.length + 5)
  for (const column of Object.keys(published['1.0'])) t.ok(columns.includes(column), column)
  for (const record of records)
    for (const [column, { nullable, type }] of Object.entries(published['1.2'])) {
      const cell = record[column] ?? ''
      if (!nullable) t.not(cell, '', column)
      if (type === 'Decimal' && cell !== '') t.match(cell, /^-?\d+(\.\d+)?$/, column)
      if (type === 'Date/Time') t.match(cell, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, column)
      if (type === 'JSON' && cell !== '') t.doesNotThrow(() => JSON.parse(cell), column)
    }
})

t.test('tokens are counted by meter and tags; a correction has the tags of what it corrects', async (t) => {
  const rowsOf = (category: string) => records.filter(({ ChargeCategory }) => ChargeCategory === category)
  const counted = rowsOf('Usage').map(({ SkuMeter, ConsumedQuantity, ConsumedUnit, Tags = '' }) => [
    ...[SkuMeter, ConsumedQuantity, ConsumedUnit],
    JSON.parse(Tags),
  ])
  const byMeter = (tagged: object, requests: number) => [
    ['input', String(100 * requests), 'Tokens', tagged],
    ['output', String(7 * requests), 'Tokens', tagged],
  ]
  t.same(
    new Set(counted.map((each) => JSON.stringify(each))),
    new Set([...byMeter({}, 1), ...byMeter(tags, 2)].map((each) => JSON.stringify(each))),
  )
  t.same(
    rowsOf('Adjustment').map(({ Tags = '' }) => JSON.parse(Tags)),
    [tags],
  )
  t.same(
    rowsOf('Adjustment').map(({ ChargeDescription }) => ChargeDescription),
    ['Correction of openai/gpt-4o-mini: undelivered, refund'],
  )
  const spellings = records.map(({ Tags }) => Tags).filter((text) => text !== '{}')
  t.same(new Set(spellings), new Set([JSON.stringify(tags)]), 'tags have one spelling, by their names')
  t.same(
    rowsOf('Purchase').map(({ Tags }) => Tags),
    ['{}'],
  )
})

t.test('it is the same bytes whatever way the server reads the tables', async (t) => {
  for (const way of ['enable_seqscan', 'enable_indexscan', 'enable_bitmapscan'])
    for (const others of [[], ['enable_indexscan']]) {
      const read = async (trx: Snapshot) => {
        for (const name of [way, ...others]) await sql`select set_config(${name}, 'off', true)`.execute(trx)
        return text(readFocus(trx, '2026-03'))
      }
      t.equal((await atCheckpoint(db, read)).value, csv, [way, ...others].join())
    }
})

t.test('its costs come to what the report of the month does', async (t) => {
  const cost = head.indexOf('BilledCost')
  const range = { from: new Date('2026-03-01'), to: new Date('2026-04-01'), groupBy: ['workspace'] as const }
  const { value } = await atCheckpoint(db, (trx) => readReport(trx, range))
  const total = rows.reduce((sum, row) => sum + parseUsd(row[cost] ?? ''), 0n)
  t.equal(formatUsd(total), formatUsd(netPicos(sumRows(value.rows))))
})

const packagesFolder = async (): Promise<string> => {
  const script = 'import sysconfig; print(sysconfig.get_path("purelib"))'
  return (await promisify(execFile)(join(programs!, 'python3'), ['-c', script])).stdout.trim()
}

t.test('focus-validator accepts it', { skip: programs === undefined && 'make journals' }, async (t) => {
  const file = join(await temporaryFolder(t), 'month.csv')
  await writeFile(file, csv)
  const words = ['--data-file', file, '--validate-version', '1.0']
  const cwd = await packagesFolder()
  // It looks for its own files below the working directory.
  const { stdout } = await promisify(execFile)(join(programs!, 'focus-validator'), words, { cwd })
  t.match(stdout, /Validation succeeded/, stdout)
})
