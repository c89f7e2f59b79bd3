import type { Insertable, Kysely, Selectable, Transaction } from 'kysely'
import type { Column } from './columns.ts'

export interface Columns {
  readonly [column: string]: Column<unknown>
}

/**
 * How the rows of a batch are written. `insert`: none of them exists. `replace`: as the last state of their key. `add`:
 * their numbers are added to those of their key. `keep`: where no row has their key, of several the first. `rise`: those
 * whose key is above every key in the table; they are in the order of it.
 */
type WriteVerb = 'insert' | 'replace' | 'add' | 'keep' | 'rise'

export interface TableDefinition<C extends Columns = Columns> {
  readonly key: readonly string[]
  readonly write: WriteVerb
  readonly columns: C
  /** Only inserted, and no batch reads or deletes one: a rebuild loads it without its indexes, beside the others. */
  readonly isBulk?: boolean
}

export interface TableDefinitions {
  readonly [table: string]: TableDefinition
}

/** The only definition of a table's columns beside its migration: rows, inserts and COPY are typed and made by it. */
export const defineTables = <const C extends { readonly [table: string]: Columns }>(
  tables: {
    readonly [T in keyof C]: TableDefinition<C[T]>
  },
): { readonly [T in keyof C]: TableDefinition<C[T]> } => tables

type RowTypes<C> = { readonly [N in keyof C]: C[N] extends Column<infer T> ? T : never }

export type TablesOf<Defined> = {
  readonly [T in keyof Defined]: Defined[T] extends TableDefinition<infer C> ? RowTypes<C> : never
}

/** Every read model adds its own tables. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by declarations of the read models
export interface Tables {}

export type ReadModels = Kysely<Tables>
export type Snapshot = Transaction<Tables>

export type RowOf<Table extends keyof Tables> = Insertable<Tables[Table]>
export type StoredRow<Table extends keyof Tables> = Selectable<Tables[Table]>
