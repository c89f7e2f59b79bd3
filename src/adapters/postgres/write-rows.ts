import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { ProjectedRows } from '../../roles/projector/ports.ts'
import { columns } from './columns.ts'
import { postgresLimits } from './limits.ts'
import { copyLine, type Row, toColumnText } from './row-text.ts'

type Table = keyof typeof columns

/** The columns of a row's primary key; the others are replaced, added to, or left as they are. */
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

/** Adds rows to a table, none of which are there. */
export const insertRows = async (client: pg.ClientBase, table: Table, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const names = Object.keys(columns[table])
  const copy = client.query(copyFrom(`copy ${table} (${names.join(', ')}) from stdin`))
  await pipeline(Readable.from(copyText(names, rows)), copy)
}

/** Rows as one array of text a column. */
const arraysOf = (names: readonly string[], rows: readonly Row[]): readonly (string | null)[][] =>
  names.map((name) => rows.map((row) => toColumnText(row[name]!)))

/** `names` of the rows whose arrays are the statement's parameters, each with its column's type. */
const buildUnnest = (table: Table, names: readonly string[]): string => {
  const types: { readonly [column: string]: string } = columns[table]
  const typed = names.map((name) => `${name}::${types[name]} as ${name}`)
  const arrays = names.map((_, place) => `$${place + 1}::text[]`)
  return `select ${typed.join(', ')} from unnest(${arrays.join(', ')}) as given (${names.join(', ')})`
}

/** The new value of a column that the row with the same key has already. */
type Merge = (table: string, column: string) => string

/** What becomes of the row with the same key. */
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

/** A text that is the same for ever has a name: the server parses it once for a connection, and soon plans it no more. */
interface Statement {
  readonly name?: string
  readonly text: string
}

/** Runs it on some rows at a time, since their arrays are made in one turn of the event loop. */
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

/** Those of the rows, in the order of their key, whose key is above every key that is there. */
const insertRising = async (client: pg.ClientBase, table: KeyedTable, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const names = Object.keys(columns[table])
  const [key] = keys[table]
  const text = `insert into ${table} (${names.join(', ')})
     select * from (${buildUnnest(table, names)}) as rising
     where ${key} > coalesce((select max(${key}) from ${table}), '-infinity')`
  await runOnRows(client, { name: `rise ${table}`, text }, names, rows)
}

/** Planned each time: how it is best done depends on how large the table is by then. */
const deleteRows = async (client: pg.ClientBase, table: KeyedTable, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return
  const key = keys[table]
  const same = key.map((name) => `${table}.${name} = gone.${name}`)
  const text = `delete from ${table} using (${buildUnnest(table, key)}) as gone where ${same.join(' and ')}`
  await runOnRows(client, { text }, key, rows)
}

const tablesOf = <T extends object>(rows: T): readonly [keyof T, T[keyof T]][] =>
  Object.entries(rows) as [keyof T, T[keyof T]][]

/** Writes what a batch makes of the tables, inside the caller's transaction. */
export const writeRows = async (client: pg.ClientBase, rows: ProjectedRows): Promise<void> => {
  for (const [table, gone] of tablesOf(rows.deleted)) await deleteRows(client, table, gone)
  for (const [table, inserted] of tablesOf(rows.inserted)) await insertRows(client, table, inserted)
  for (const [table, replaced] of tablesOf(rows.replaced)) await mergeRows(client, table, replaced, 'replace')
  for (const [table, added] of tablesOf(rows.added)) await mergeRows(client, table, added, 'add')
  for (const [table, first] of tablesOf(rows.first)) await mergeRows(client, table, first, 'keep')
  for (const [table, rising] of tablesOf(rows.rising)) await insertRising(client, table, rising)
}
