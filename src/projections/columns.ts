import type { ColumnType } from 'kysely'

/** int8: read exactly, written from any whole number. */
export type Int8 = ColumnType<bigint, number | bigint, never>
/** numeric: decimal text both ways, never a float. */
export type Decimal = ColumnType<string, string, never>
export type Instant = ColumnType<Date, string, never>
export type Json<T> = ColumnType<T, string, never>
/** text of arbitrary content: as `storedText` encodes it. */
export type FreeText = string

/** Amount columns always show their 12 decimals: '2.500000000000' → 2_500_000_000_000n. Sums have no upper bound. */
export const parsePicos = (amount: string): bigint => BigInt(amount.replace('.', ''))
