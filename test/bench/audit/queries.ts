/**
 * How fast dashboards are answered: each query of the ledger's read API on a million bills of one workspace, which the projector's own code
 * has written, with parameters that differ every time.
 */

import pg from 'pg'
import { openDatabase } from '../../../src/adapters/postgres/database.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import type { EntryPosition, StatementRange } from '../../../src/projections/statements/queries.ts'
import type { UsageGroup } from '../../../src/projections/usage/queries.ts'
import type { EdgeReadModels } from '../../../src/read-api/read-models.ts'
import { ProjectionRun } from '../../../src/roles/projector/projection-run.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { startPostgres } from '../../support/postgres.ts'
import { quantile } from '../figures.ts'
import { progress } from '../run.ts'
import { table, whole } from '../table.ts'
import { dayMs, firstDayMs, type Generated, GeneratedLog, keyOf, modelOf, payer, requestIdOf } from './generated-log.ts'

export interface QueryOptions {
  readonly rows: number
  /** Of each query. */
  readonly samples: number
}

export interface QueryFigures {
  readonly query: string
  readonly p50Ms: number
  readonly p99Ms: number
  readonly mostMs: number
}

export interface QueryReport {
  /** Of the tables, until the stack is disposed. */
  readonly databaseUrl: string
  readonly usageRows: number
  readonly taskRows: number
  /** Sums by day, model, key and surface, from which usage is answered. */
  readonly dayRows: number
  readonly projectedPerSecond: number
  readonly queries: readonly QueryFigures[]
}

const shape: Omit<Generated, 'requests'> = { days: 90, keys: 50, modelsOfKey: 4, models: 12, tagValues: 10 }
const pageRows = 100
const warmUps = 20
export const targetMs = 20

const below = (most: number): number => Math.floor(Math.random() * most)
const dayText = (day: number): string => new Date(firstDayMs + day * dayMs).toISOString().slice(0, 'YYYY-MM-DD'.length)
const instant = (): Date => new Date(firstDayMs + below(shape.days * dayMs))
const midnight = (): Date => new Date(firstDayMs + below(shape.days) * dayMs)

/** `days` days that begin anywhere. */
const someDays = (days: number) => {
  const from = below(shape.days - days + 1)
  return { from: dayText(from), to: dayText(from + days - 1) }
}

const upTo = (from: Date, ms: number): StatementRange => ({ from, to: new Date(from.getTime() + ms) })

type Ask = (tables: EdgeReadModels) => Promise<unknown>

const usage =
  (days: number, groupBy: readonly UsageGroup[], filter: () => object = () => ({})): Ask =>
  (tables) =>
    tables.listUsage(payer, { ...someDays(days), groupBy, limit: pageRows, ...filter() })

const statement =
  (range: () => StatementRange, more: (frames: number) => object = () => ({})) =>
  (frames: number): Ask =>
  (tables) =>
    tables.readStatement(payer, { ...range(), limit: pageRows, ...more(frames) })

const everything = (): StatementRange => ({ from: null, to: null })
const somewhere = (frames: number): { readonly readOn: EntryPosition } => ({
  readOn: { sequence: 1 + below(frames), eventIndex: 0, line: 0 },
})

const charges =
  (range: () => StatementRange, filter: () => object = () => ({})): Ask =>
  (tables) =>
    tables.listCharges(payer, { ...range(), limit: pageRows, ...filter() })

const asks = ({ requests }: Pick<Generated, 'requests'>, frames: number): Readonly<Record<string, Ask>> => ({
  'usage, 30 days by day': usage(30, ['day']),
  'usage, 30 days by model': usage(30, ['model']),
  'usage, 30 days by day and model': usage(30, ['day', 'model']),
  'usage, 30 days of one key by day': usage(30, ['day'], () => ({ key: keyOf(below(shape.keys)) })),
  'usage, 90 days by key': usage(90, ['key']),
  'usage, 90 days of one model by day': usage(90, ['day'], () => ({ model: modelOf(below(shape.models)) })),
  'usage, 7 days, all there is': usage(7, ['day', 'model', 'key', 'surface']),
  'statement, a day': statement(() => upTo(midnight(), dayMs))(frames),
  'statement, between any two instants': statement(() => upTo(instant(), below(30 * dayMs)))(frames),
  'statement, the whole, read on anywhere': statement(everything, somewhere)(frames),
  'statement, the credits': statement(everything, () => ({ kind: 'credit' }))(frames),
  'charges, the newest': charges(everything),
  'charges, before any instant': charges(() => ({ from: null, to: instant() })),
  'charges, of one key': charges(everything, () => ({ key: keyOf(below(shape.keys)) })),
  'charges, of one model and key': charges(
    () => ({ from: null, to: instant() }),
    () => ({ key: keyOf(7), model: modelOf(3) }),
  ),
  'charges, of one model': charges(everything, () => ({ model: modelOf(below(shape.models)) })),
  'charges, of a model that has none': charges(
    () => ({ from: null, to: instant() }),
    () => ({ model: 'openai/none' }),
  ),
  'charges, of video tasks': charges(everything, () => ({ surface: 'video' })),
  'charges, of a key that has none': charges(everything, () => ({ key: 'key_none' })),
  'where one charge stands': (tables) => tables.findTrace(requestIdOf(below(requests))),
  holds: (tables) => tables.listHolds(payer, { limit: pageRows }),
  billing: (tables) => tables.findBilling(payer),
})

const timed = async (ask: () => Promise<unknown>): Promise<number> => {
  const fromMs = performance.now()
  await ask()
  return performance.now() - fromMs
}

const measureQuery = async (query: string, ask: () => Promise<unknown>, samples: number): Promise<QueryFigures> => {
  for (let warm = 0; warm < warmUps; warm += 1) await ask()
  const tookMs = new Float64Array(samples)
  for (let sample = 0; sample < samples; sample += 1) tookMs[sample] = await timed(ask)
  tookMs.sort()
  return { query, p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99), mostMs: quantile(tookMs, 1) }
}

const countOf = async (client: pg.Client, name: string): Promise<number> => {
  const { rows } = await client.query<{ count: string }>(`select count(*)::text as count from ledger.${name}`)
  return Number(rows[0]?.count)
}

/** Events a second, with all their rows. */
const fill = async (database: ReturnType<typeof openDatabase>, log: GeneratedLog): Promise<number> => {
  const store = database.projectionStore()
  await store.load()
  const fromMs = performance.now()
  const bounds = { batchEventsMax: sharedLimits.projectionBatchEventsMax, toSequence: log.frames }
  const { reason } = await new ProjectionRun({ ledger: initialLedger(), log, store, ...bounds }).ended
  if (reason !== 'reached') throw new Error(`the tables were not filled: ${reason}`)
  return log.events / ((performance.now() - fromMs) / 1_000)
}

export const measureQueries = async (
  { rows, samples }: QueryOptions,
  stack: AsyncDisposableStack,
): Promise<QueryReport> => {
  const postgres = await startPostgres({ teardown: (stop) => stack.defer(stop) })
  const { url } = await postgres.newDatabase()
  const database = stack.adopt(openDatabase(url), (each) => each.close())
  const log = new GeneratedLog({ ...shape, requests: rows })
  progress(`projecting ${whole(rows)} requests`)
  const projectedPerSecond = await fill(database, log)
  const client = stack.adopt(new pg.Client({ connectionString: url }), (each) => each.end())
  await client.connect()
  await client.query('vacuum analyze') // As autovacuum would have done.
  const queries: QueryFigures[] = []
  for (const [query, ask] of Object.entries(asks({ requests: rows }, log.frames))) {
    progress(`measuring ${query}`)
    queries.push(await measureQuery(query, () => ask(database.readModels()), samples))
  }
  const dayRows = await countOf(client, 'usage_by_day')
  const [usageRows, taskRows] = [await countOf(client, 'usage_entries'), await countOf(client, 'task_charges')]
  return { databaseUrl: url, usageRows, taskRows, dayRows, projectedPerSecond, queries }
}

const inMs = (ms: number): string => ms.toFixed(2)

export const queriesText = ({ usageRows, taskRows, dayRows, projectedPerSecond, queries }: QueryReport): string =>
  [
    `${whole(usageRows)} bills and ${whole(taskRows)} video tasks of one workspace, ${whole(dayRows)} sums by day; projected at ${whole(projectedPerSecond)} events/s`,
    '',
    table(
      ['query', 'p50 ms', 'p99 ms', 'most ms', ''],
      queries.map(({ query, p50Ms, p99Ms, mostMs }) => [
        ...[query, inMs(p50Ms), inMs(p99Ms), inMs(mostMs)],
        p99Ms <= targetMs ? '' : `above ${targetMs} ms`,
      ]),
      1,
    ),
  ].join('\n')
