import { createHash, type Hash } from 'node:crypto'
import type pg from 'pg'
import Cursor from 'pg-cursor'
import { postgresLimits } from './limits.ts'

/** A row that differs; null on the side that lacks its key. */
interface Difference {
  readonly key: readonly string[]
  readonly live: string | null
  readonly rebuilt: string | null
}

export interface TableComparison {
  readonly table: string
  readonly rows: number
  readonly differences: number
  readonly columns: readonly string[]
  readonly shown: readonly Difference[]
  /** SHA-256 over the rebuilt rows in key order, hex: it compares two rebuilds. */
  readonly digest: string
}

interface ComparedTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly KeyColumn[]
}

interface KeyColumn {
  readonly name: string
  readonly type: string
}

type KeyedRow = readonly [row: string, ...key: readonly string[]]

/** Includes tables without a primary key. */
export const listTables = async (
  client: pg.ClientBase,
  except: readonly string[],
): Promise<readonly ComparedTable[]> => {
  const { rows } = await client.query<ComparedTable>(
    `select t.relname as name,
            (select json_agg(a.attname order by a.attnum) from pg_attribute a
             where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped) as columns,
            coalesce((select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null))
                                      order by array_position(i.indkey::int2[], a.attnum))
                      from pg_index i
                      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
                      where i.indrelid = t.oid and i.indisprimary), '[]') as key
     from pg_class t
     where t.relnamespace = current_schema::regnamespace and t.relkind = 'r' and t.relname <> all($1)
     order by 1`,
    [except],
  )
  const keyless = rows.find(({ key }) => key.length === 0)
  if (keyless !== undefined) throw new Error(`table ${keyless.name} has no primary key to compare it by`)
  return rows
}

const wholeNumberTypes = ['smallint', 'integer', 'bigint']

const compareNumbers = (one: string, other: string): number => {
  const difference = BigInt(one) - BigInt(other)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** PostgreSQL's order: text keys have the collation "C", the order of their bytes. */
const compareKeys = (columns: readonly KeyColumn[], one: KeyedRow, other: KeyedRow): number => {
  for (const [place, { type }] of columns.entries()) {
    const [mine, theirs] = [one[place + 1]!, other[place + 1]!]
    const order = wholeNumberTypes.includes(type)
      ? compareNumbers(mine, theirs)
      : Buffer.compare(Buffer.from(mine), Buffer.from(theirs))
    if (order !== 0) return order
  }
  return 0
}

class RowStream {
  readonly #cursor: Cursor<KeyedRow>
  #page: readonly KeyedRow[] = []
  #place = 0
  #ended = false

  constructor(client: pg.ClientBase, { name, key }: ComparedTable) {
    const order = key.map((column) => `t.${column.name}`)
    const texts = ['t', ...order].map((value) => `${value}::text`)
    this.#cursor = client.query(
      new Cursor<KeyedRow>(`select ${texts.join(', ')} from ${name} t order by ${order.join(', ')}`, [], {
        rowMode: 'array',
      }),
    )
  }

  /** Undefined at the end, and when the next page must be read first. */
  get current(): KeyedRow | undefined {
    return this.#page[this.#place]
  }

  get needsPage(): boolean {
    return !this.#ended && this.#place === this.#page.length
  }

  next(): void {
    this.#place += 1
  }

  async readPageIfNeeded(): Promise<void> {
    if (!this.needsPage) return
    this.#page = await this.#cursor.read(postgresLimits.compareRowsPerRead)
    this.#place = 0
    this.#ended = this.#page.length === 0
  }

  close(): Promise<void> {
    return this.#cursor.close()
  }
}

/** Walks both sides in key order and digests the rebuilt side. Resolves with the number of live rows. */
const compareStreams = async (
  live: RowStream,
  rebuilt: RowStream,
  columns: readonly KeyColumn[],
  digest: Hash,
  onDifference: (difference: Difference) => void,
): Promise<number> => {
  let rows = 0
  for (;;) {
    if (live.needsPage || rebuilt.needsPage) await Promise.all([live.readPageIfNeeded(), rebuilt.readPageIfNeeded()])
    const [mine, theirs] = [live.current, rebuilt.current]
    if (mine === undefined && theirs === undefined) return rows
    const order = orderOf(columns, mine, theirs)
    if (mine?.[0] !== theirs?.[0])
      onDifference({
        key: (order <= 0 ? mine! : theirs!).slice(1),
        live: order <= 0 ? mine![0] : null,
        rebuilt: order >= 0 ? theirs![0] : null,
      })
    if (order <= 0) rows += 1
    if (order >= 0) digest.update(`${theirs![0]}\n`)
    if (order <= 0) live.next()
    if (order >= 0) rebuilt.next()
  }
}

const orderOf = (columns: readonly KeyColumn[], mine: KeyedRow | undefined, theirs: KeyedRow | undefined): number => {
  if (mine === undefined) return 1
  if (theirs === undefined) return -1
  return mine[0] === theirs[0] ? 0 : compareKeys(columns, mine, theirs)
}

/** Each connection must be in a transaction that sees one state. */
export const compareTable = async (
  live: pg.ClientBase,
  rebuilt: pg.ClientBase,
  table: ComparedTable,
): Promise<TableComparison> => {
  const shown: Difference[] = []
  let differences = 0
  const sides = [new RowStream(live, table), new RowStream(rebuilt, table)] as const
  const digest = createHash('sha256')
  const rows = await compareStreams(...sides, table.key, digest, (difference) => {
    differences += 1
    if (shown.length < postgresLimits.compareDifferencesMax) shown.push(difference)
  })
  for (const side of sides) await side.close()
  return { table: table.name, rows, differences, columns: table.columns, shown, digest: digest.digest('hex') }
}
