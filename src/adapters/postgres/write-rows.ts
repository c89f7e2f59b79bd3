import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Row } from '../../projections/schema/read-model.ts'
import type { TableDefinition } from '../../projections/schema/tables.ts'
import type { TableChanges } from '../../roles/projector/ports.ts'
import { postgresLimits } from './limits.ts'
import { toColumnText, toCopyText } from './row-text.ts'

interface NamedTable {
  readonly table: string
  readonly definition: TableDefinition
}

const insertRows = async (
  client: pg.ClientBase,
  { table, definition }: NamedTable,
  rows: readonly Row[],
): Promise<void> => {
  const names = Object.keys(definition.columns)
  const copy = client.query(copyFrom(`copy ${table} (${names.join(', ')}) from stdin`))
  // Not `pipeline`: at each end it aborts a signal, whose error has a stack to be written.
  const copied = finished(copy)
  copied.catch(() => undefined) // Awaited below.
  try {
    for (const chunk of toCopyText(names, rows))
      if (!copy.write(chunk)) await Promise.race([once(copy, 'drain'), copied])
    copy.end()
  } catch (fault) {
    copy.destroy(fault as Error)
  }
  await copied
}

const arraysOf = (names: readonly string[], rows: readonly Row[]): readonly (string | null)[][] =>
  names.map((name) => rows.map((row) => toColumnText(row[name]!)))

const columnsOf = ({ definition }: NamedTable): readonly string[] => Object.keys(definition.columns)

const buildUnnest = ({ columns }: TableDefinition, names: readonly string[], firstParameter = 1): string => {
  const typed = names.map((name) => `${name}::${columns[name]!.sqlType} as ${name}`)
  const arrays = names.map((_, place) => `$${firstParameter + place}::text[]`)
  return `select ${typed.join(', ')} from unnest(${arrays.join(', ')}) as given (${names.join(', ')})`
}

type Merge = (table: string, column: string) => string

const merges = {
  keep: null,
  replace: (_, column) => `${column} = excluded.${column}`,
  add: (table, column) => `${column} = ${table}.${column} + excluded.${column}`,
} as const satisfies { readonly [verb: string]: Merge | null }

const changeOf = ({ table, definition }: NamedTable, merge: Merge | null): string => {
  if (merge === null) return 'nothing'
  const changed = Object.keys(definition.columns).filter((name) => !definition.key.includes(name))
  return `update set ${changed.map((name) => merge(table, name)).join(', ')}`
}

const writeText = (named: NamedTable, firstParameter = 1): string => {
  const { table, definition } = named
  const { write } = definition
  const names = columnsOf(named)
  const into = `insert into ${table} (${names.join(', ')})`
  const given = buildUnnest(definition, names, firstParameter)
  const [key] = definition.key
  if (write === 'insert') return `${into} ${given}`
  if (write === 'rise')
    return `${into} select * from (${given}) as rising
     where ${key} > coalesce((select max(${key}) from ${table}), '-infinity')`
  return `${into} ${given} on conflict (${definition.key.join(', ')}) do ${changeOf(named, merges[write])}`
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

/** Unnamed, so that it is planned each time: the best plan depends on the table's size. */
const deleteRows = async (
  client: pg.ClientBase,
  { table, definition }: NamedTable,
  rows: readonly Row[],
): Promise<void> => {
  const { key } = definition
  const same = key.map((name) => `${table}.${name} = gone.${name}`)
  const text = `delete from ${table} using (${buildUnnest(definition, key)}) as gone where ${same.join(' and ')}`
  await runOnRows(client, { text }, key, rows)
}

const writeRows = (client: pg.ClientBase, { written, ...named }: TableChanges): Promise<void> => {
  const { table, definition } = named
  const { write } = definition
  if (write === 'insert') return insertRows(client, named, written)
  return runOnRows(client, { name: `${write} ${table}`, text: writeText(named) }, columnsOf(named), written)
}

const sharedNames = new Map<string, string>()

const sharedNameOf = (text: string): Pick<Statement, 'name'> => {
  if (!sharedNames.has(text) && sharedNames.size < postgresLimits.sharedStatementsMax)
    sharedNames.set(text, `write ${sharedNames.size}`)
  const name = sharedNames.get(text)
  return name === undefined ? {} : { name }
}

/** Each statement is a message and its answer, for which both sides are woken: of few rows that is most of the cost. */
const writeTogether = async (client: pg.ClientBase, changes: readonly TableChanges[]): Promise<void> => {
  if (changes.length === 0) return
  const values: (string | null)[][] = []
  const parts: string[] = []
  for (const { written, ...named } of changes) {
    parts.push(`part${parts.length} as (${writeText(named, values.length + 1)})`)
    values.push(...arraysOf(columnsOf(named), written))
  }
  const text = `with ${parts.join(', ')} select`
  await client.query({ ...sharedNameOf(text), text, values })
}

export const writeChanges = async (client: pg.ClientBase, changes: readonly TableChanges[]): Promise<void> => {
  for (const each of changes) if (each.deleted.length > 0) await deleteRows(client, each, each.deleted)
  const written = changes.filter((each) => each.written.length > 0)
  const rows = written.reduce((sum, each) => sum + each.written.length, 0)
  if (rows <= postgresLimits.rowsTogetherMax) await writeTogether(client, written)
  else for (const each of written) await writeRows(client, each)
}
