import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { requireTables } from '../../../src/cli/platform.ts'
import type { Event, Fact } from '../../../src/events/envelope.ts'
import { sayAt } from '../../dashboard/seed.ts'
import { tablesCaughtUp } from '../../dashboard/world.ts'
import { adjusted, credited, planSubscribed, routed, used, workspaceChanged } from '../../roles/projector/facts.ts'
import { until } from '../../support/clients.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { type Ended, mainFile, programEnvironment, runProgram } from '../../support/program.ts'

const dayMs = 86_400_000
const now = new Date()
/** The month before the last one, so that it can be closed on every day. */
const startOf = (monthsAgo: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo)
const [start, end] = [startOf(2), startOf(1)]
const month = new Date(start).toISOString().slice(0, 7)
const lastDay = new Date(end - dayMs).toISOString().slice(0, 10)
const next = new Date(end).toISOString().slice(0, 7)

const { operator, config } = await startTestGateway(t, {
  openAccount: (context) => context.openAccount('acme', '0'),
})
const { dataFolder } = config
const say = (at: number, facts: readonly Fact[], wallet: string | null = null): Promise<void> =>
  sayAt({ config }, () => at, facts, wallet)
const run = (...words: readonly string[]): Promise<Ended> => runProgram(dataFolder, dataFolder, ...words)

const costing = (total: string) => ({ total, lines: [{ item: 'input', quantity: 1, unitPrice: total, amount: total }] })
const day = (number: number): number => start + number * dayMs
await say(
  day(1),
  [
    credited('first', '100'),
    planSubscribed('sub-1', [`${month}-02`, '2099-01-01'], { includedCredit: '0', price: '5' }),
  ],
  'acme',
)
await say(day(2), [routed('request-1', { tags: { team: 'search' } }), used('request-1')])
await say(day(3), [adjusted('refund-1', '0.0001')], 'acme')
await say(day(20), [routed('request-2'), used('request-2', costing('0.5')), routed('open-at-its-end')])
await say(end + 1_000, [routed('of-the-next-month'), used('of-the-next-month')])
await tablesCaughtUp({ operator })

const periodEvents = async (): Promise<readonly Event[]> =>
  (await operator.events()).filter(({ type }) => type.startsWith('Period'))
const typesOf = (events: readonly Event[]): readonly string[] => events.map(({ type }) => type)

const { place } = requireTables(operator.platform)
const client = new pg.Client({ connectionString: place.url })
await client.connect()
t.teardown(() => client.end())

const isWaiting = async (): Promise<boolean> =>
  (await client.query('select from pg_locks where not granted')).rowCount !== 0

/** Kills a command while it waits for a table, once the events of periods are these. */
const killAtTable = async (
  table: string,
  written: readonly string[],
  command: readonly string[] = ['close', month, '--with-exceptions'],
): Promise<void> => {
  await client.query(`begin; lock table ledger.${table} in access exclusive mode`)
  const words = [...command, '--data', dataFolder]
  const child = spawn(process.execPath, [mainFile, ...words], { env: programEnvironment(), stdio: 'ignore' })
  const exited = once(child, 'exit')
  await until(async () => (await isWaiting()) && typesOf(await periodEvents()).join() === written.join())
  child.kill('SIGKILL')
  await exited
  await client.query('rollback')
}

/** Every export of the month, each as its bytes. */
const exports = async (folder = dataFolder): Promise<Readonly<Record<string, string>>> => {
  const texts: Record<string, string> = {}
  for (const words of ['journal --format hledger', 'journal --format beancount', 'focus']) {
    const { code, out, err } = await runProgram(folder, folder, 'export', ...words.split(' '), '--month', month)
    t.equal(code, 0, err)
    texts[words] = out
  }
  return texts
}

const statement = async (...words: readonly string[]): Promise<string> => {
  const range = ['--from', `${month}-01`, '--to', lastDay, '--json', '--holds']
  const { code, out, err } = await run('statement', 'acme', ...range, ...words)
  t.equal(code, 0, err)
  return out
}

t.test('a month is not closed before it is over, while something is open, or where it is none', async (t) => {
  const present = now.toISOString().slice(0, 7)
  t.match(await run('periods'), { code: 0, out: '', err: /there are none/ })
  t.match(await run('close', present), { code: 1, err: /can be closed from/ })
  t.match(await run('close', month), { code: 1, err: /open request open-at-its-end of acme/ })
  t.match(await run('close', '2026-13'), { code: 2, err: /a month in UTC is such as 2026-11/ })
  t.match(await run('reopen', month, '--reason', 'none'), { code: 1, err: /is not closed/ })
  t.same(await periodEvents(), [])
})

t.test('killed at every step, it is closed once, by the run that comes to its end', async (t) => {
  await killAtTable('open_requests', [])
  for (const table of ['admin_changes', 'movement_minutes', 'open_requests']) await killAtTable(table, ['PeriodCutOff'])
  await say(day(25), [used('open-at-its-end', costing('0.25'))])
  const closed = await run('close', month, '--json')
  t.match(closed, { code: 0 })
  const [period] = closed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(period, { month, state: 'closed', workspaces: 1, requests: 2, charges: '0.50055', corrections: '-0.0001' })
  t.same(typesOf(await periodEvents()), ['PeriodCutOff', 'PeriodClosed'])
  t.match(await run('close', month), { code: 0, err: /it was closed before/ })
  t.same(typesOf(await periodEvents()), ['PeriodCutOff', 'PeriodClosed'])
  const bytes = await statement()
  t.equal(hash('sha256', bytes), period.digest, 'the digest is that of its statements')
  t.match(bytes, `"log_sequence":${period.sequence}`)
})

t.test('an export that is killed leaves no file, or the one that was there', async (t) => {
  const files = join(dataFolder, 'exports')
  await mkdir(files)
  const exported = await exports()
  for (const [words, kept] of [
    ['focus', null],
    ['journal --format hledger', 'kept'],
  ] as const) {
    const file = join(files, words)
    if (kept !== null) await writeFile(file, kept)
    const command = ['export', ...words.split(' '), '--month', month, '--out', file]
    await killAtTable('wallet_entries', ['PeriodCutOff', 'PeriodClosed'], command)
    t.equal(await readFile(file, 'utf8').catch(() => null), kept, words)
    t.match(await run(...command), { code: 0, out: '' })
    t.equal(await readFile(file, 'utf8'), exported[words])
  }
  const folder = await run('export', 'focus', '--month', month, '--out', files)
  t.match(folder, { code: 2, err: /is a folder: name a file/ })
  t.same((await readdir(files)).toSorted(), ['focus', 'journal --format hledger'], 'and no draft')
})

t.test('what comes later is in the next month, and nothing changes the closed one', async (t) => {
  const bytes = await statement()
  const exported = await exports()
  t.match(exported['focus'], /The acme company|,acme,/)
  const renamed = workspaceChanged()
  await say(end + 2_000, [{ ...renamed, data: { ...renamed.data, account: 'another' } }])
  await say(day(4), [routed('late'), used('late')])
  await say(day(5), [adjusted('late-refund', '0.0002')], 'acme')
  await tablesCaughtUp({ operator })
  t.equal(await statement(), bytes)
  t.equal(await statement('--from-log'), bytes)
  t.match(await run('replay', '--swap'), { code: 0 })
  t.equal(await statement(), bytes, 'after a rebuild')
  t.same(await exports(), exported, 'exports too, although the workspace has another name and account now')
  const later = await run('statement', 'acme', '--from', `${next}-01`, '--json')
  const lines = later.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const late = lines
    .filter(({ kind, event_at }) => kind !== 'excess' && event_at?.startsWith(month))
    .map(({ reference, at }) => [reference, at.slice(0, 7)])
  t.same(late, [
    ['open-at-its-end', next],
    ['late', next],
    ['late-refund', next],
  ])
})

t.test('it is reopened for a reason, and closed again', async (t) => {
  t.match(await run('reopen', month), { code: 2, err: /--reason/ })
  t.match(await run('reopen', month, '--reason', ' '), { code: 2, err: /reason must match/ })
  t.match(await run('reopen', month, '--reason', 'an invoice came late'), { code: 0, err: /reopened/ })
  t.equal((await run('periods', '--json')).out, '')
  t.match(await run('close', month, '--json'), { code: 0, out: /"exceptions":0/ })
  t.match((await run('periods', '--json')).out, /"charges":"0.50055"/)
  const after = await run('close', new Date(startOf(0)).toISOString().slice(0, 7))
  t.match(after, { code: 1 })
  t.same(typesOf(await periodEvents()).slice(2), ['PeriodReopened', 'PeriodCutOff', 'PeriodClosed'])
})
