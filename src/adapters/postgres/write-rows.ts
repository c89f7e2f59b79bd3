import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { ProjectedRows } from '../../roles/projector/ports.ts'
import { columns } from './columns.ts'
import { postgresLimits } from './limits.ts'
import { copyLine, type Row, toColumnText } from './row-text.ts'

type Table = keyof typeof columns

const keys = {
  writers: ['writer'],
  workspaces: ['workspace_id'],
  keys: ['key_id'],
  aliases: ['alias'],
  routers: ['router'],
  limits: ['workspace_id', 'key_id'],
  plans: ['plan_id'],
  subscriptions: ['workspace_id'],
  wallets: ['workspace_id'],
  holds: ['workspace_id', 'hold_id'],
  key_spending: ['workspace_id', 'key_id'],
  open_requests: ['request_id'],
  usage_by_day: ['workspace_id', 'day', 'model', 'key_id', 'surface'],
  stored_responses: ['response_id'],
  seals: ['size'],
  movement_minutes: ['minute'],
  tasks: ['task_id'],
  external_tasks: ['workspace_id', 'external_task_id'],
} as const satisfies { readonly [T in Table]?: readonly string[] }

type KeyedTable = keyof typeof keys

function* copyText(names: readonly string[], rows: readonly Row[]): Generator<Buffer> {
  for (let start = 0; start < rows.length; start += postgresLimits.copyRowsPerChunk) {
    let text = ''
    for (const row of rows.slice(start, start + postgresLimits.copyRowsPerChunk)) text += copyLine(names, row)
    yield Buffer.from(text)
  }
}

/** None of the rows may exist. */
export const insertRows = async (client: pg.ClientBase, table: Table, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const names = Object.keys(columns[table])
  const copy = client.query(copyFrom(`copy ${table} (${names.join(', ')}) from stdin`))
  await pipeline(Readable.from(copyText(names, rows)), copy)
}

const arraysOf = (names: readonly string[], rows: readonly Row[]): readonly (string | null)[][] =>
  names.map((name) => rows.map((row) => toColumnText(row[name]!)))

const buildUnnest = (table: Table, names: readonly string[]): string => {
  const types: { readonly [column: string]: string } = columns[table]
  const typed = names.map((name) => `${name}::${types[name]} as ${name}`)
  const arrays = names.map((_, place) => `$${place + 1}::text[]`)
  return `select ${typed.join(', ')} from unnest(${arrays.join(', ')}) as given (${names.join(', ')})`
}

type Merge = (table: string, column: string) => string

const merges = {
  keep: null,
  replace: (_, column) => `${column} = excluded.${column}`,
  add: (table, column) => `${column} = ${table}.${column} + excluded.${column}`,
} as const satisfies { readonly [verb: string]: Merge | null }

const changeOf = (table: KeyedTable, names: readonly string[], merge: Merge | null): string => {
  if (merge === null) return 'nothing'
  const key: readonly string[] = keys[table]
  const changes = names.filter((name) => !key.includes(name)).map((name) => merge(table, name))
  return `update set ${changes.join(', ')}`
}

/** A text that never changes has a name: the server parses it once per connection, and soon stops planning it. */
interface Statement {
  readonly name?: string
  readonly text: string
}

/** In chunks, since the arrays of one are made in one turn of the event loop. */
const runOnRows = async (
  client: pg.ClientBase,
  statement: Statement,
  names: readonly string[],
  rows: readonly Row[],
): Promise<void> => {
  for (let start = 0; start < rows.length; start += postgresLimits.mergeRowsPerStatement) {
    const some = rows.slice(start, start + postgresLimits.mergeRowsPerStatement)
    await client.query({ ...statement, values: [...arraysOf(names, some)] })
  }
}

/** With `keep` several rows may have one key: the first of them stays. */
const mergeRows = async (
  client: pg.ClientBase,
  table: KeyedTable,
  rows: readonly Row[],
  verb: keyof typeof merges,
): Promise<void> => {
  if (rows.length === 0) return
  const names = Object.keys(columns[table])
  const text = `insert into ${table} (${names.join(', ')}) ${buildUnnest(table, names)}
     on conflict (${keys[table].join(', ')}) do ${changeOf(table, names, merges[verb])}`
  await runOnRows(client, { name: `${verb} ${table}`, text }, names, rows)
}

/** Inserts only the rows whose key is above the greatest in the table; `rows` must be in key order. */
const insertRising = async (client: pg.ClientBase, table: KeyedTable, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const names = Object.keys(columns[table])
  const [key] = keys[table]
  const text = `insert into ${table} (${names.join(', ')})
     select * from (${buildUnnest(table, names)}) as rising
     where ${key} > coalesce((select max(${key}) from ${table}), '-infinity')`
  await runOnRows(client, { name: `rise ${table}`, text }, names, rows)
}

/** Unnamed, so that it is planned each time: the best plan depends on the table's size. */
const deleteRows = async (client: pg.ClientBase, table: KeyedTable, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const key = keys[table]
  const same = key.map((name) => `${table}.${name} = gone.${name}`)
  const text = `delete from ${table} using (${buildUnnest(table, key)}) as gone where ${same.join(' and ')}`
  await runOnRows(client, { text }, key, rows)
}

const tablesOf = <T extends object>(rows: T): readonly [keyof T, T[keyof T]][] =>
  Object.entries(rows) as [keyof T, T[keyof T]][]

/** Inside the caller's transaction. */
export const writeRows = async (client: pg.ClientBase, rows: ProjectedRows): Promise<void> => {
  for (const [table, gone] of tablesOf(rows.deleted)) await deleteRows(client, table, gone)
  for (const [table, inserted] of tablesOf(rows.inserted)) await insertRows(client, table, inserted)
  for (const [table, replaced] of tablesOf(rows.replaced)) await mergeRows(client, table, replaced, 'replace')
  for (const [table, added] of tablesOf(rows.added)) await mergeRows(client, table, added, 'add')
  for (const [table, first] of tablesOf(rows.first)) await mergeRows(client, table, first, 'keep')
  for (const [table, rising] of tablesOf(rows.rising)) await insertRising(client, table, rising)
}
