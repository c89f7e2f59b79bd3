import type { ColumnType } from 'kysely'

type SqlType = 'text' | 'int2' | 'int4' | 'int8' | 'int8[]' | 'numeric' | 'boolean' | 'timestamptz' | 'date' | 'json'

export interface Column<T> {
  readonly sqlType: SqlType
  /** Of the column in Kysely's rows; never a value. */
  readonly rowType?: T
}

const column =
  (sqlType: SqlType) =>
  <T>(): Column<T> => ({ sqlType })

export const text = column('text')<string>
export const textOf = column('text')
/** Text of arbitrary content: as `storedText` encodes it. */
export const freeText = text
export const int2 = column('int2')<number>
export const int4 = column('int4')<number>
/** Read exactly, written from any whole number. */
export const int8 = column('int8')<ColumnType<bigint, number | bigint, never>>
export const int8List = column('int8[]')<ColumnType<readonly bigint[], readonly number[], never>>
/** Decimal text both ways, never a float. */
export const decimal = column('numeric')<ColumnType<string, string, never>>
export const boolean = column('boolean')<boolean>
export const instant = column('timestamptz')<ColumnType<Date, string, never>>
/** YYYY-MM-DD, UTC. */
export const date = column('date')<string>

export const json = <T>() => column('json')<ColumnType<T, string, never>>()

export const nullable = <T>({ sqlType }: Column<T>): Column<T | null> => ({ sqlType })

/** Amount columns always show their 12 decimals: '2.500000000000' → 2_500_000_000_000n. Sums have no upper bound. */
export const parsePicos = (amount: string): bigint => BigInt(amount.replace('.', ''))

export const toInstant = (epochMs: number): string => new Date(epochMs).toISOString()
export const toInstantOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : toInstant(epochMs))
