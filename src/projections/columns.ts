import type { ColumnType } from 'kysely'

/** int8: read exactly, written from whichever whole number is at hand. */
export type Int8 = ColumnType<bigint, number | bigint, never>
/** numeric: decimal text both ways, never a float. */
export type Decimal = ColumnType<string, string, never>
/** timestamptz: written as ISO 8601 text. */
export type Instant = ColumnType<Date, string, never>
/** json: written as its text, read as the value. */
export type Json<T> = ColumnType<T, string, never>
/** text that is free to hold anything: as `storedText` encodes it. */
export type FreeText = string

/** An amount column, which always shows its 12 decimals, in picos: '2.500000000000' → 2_500_000_000_000n. Sums have no upper bound here. */
export const parsePicos = (amount: string): bigint => BigInt(amount.replace('.', ''))
