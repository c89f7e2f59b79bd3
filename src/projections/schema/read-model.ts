import type { Applied, Ledger, LedgerFrame } from '../../domain/ledger/ledger.ts'
import type { RowOf, TableDefinitions, Tables } from './tables.ts'

export type Value = string | number | bigint | boolean | null | readonly number[]
export type Row = { readonly [column: string]: Value }

export interface ModelRows<T extends string = string> {
  readonly written: { readonly [N in T]: readonly (N extends keyof Tables ? RowOf<N> : Row)[] }
  /** Keys of rows to delete, before others are written. */
  readonly deleted?: { readonly [N in T]?: readonly Row[] }
}

export interface RowAccumulator<T extends string = string> {
  addFrame?(frame: LedgerFrame): void
  addEvent(applied: Applied): void
  /** The rows that are final, and the last state of what changed; the ledger is at the batch's last frame. */
  finish(ledger: Ledger): ModelRows<T>
}

export interface ReadModel<T extends string = string> {
  readonly name: string
  /** A higher one has the tables filled anew from the log. */
  readonly version: number
  readonly tables: { readonly [N in T]: TableDefinitions[string] }
  startBatch(): RowAccumulator<T>
}

export const defineReadModel = <T extends string>(model: ReadModel<T>): ReadModel<T> => model

/** The rows of the named states; none for a state that is gone. */
export const rowsOfChanged = <State, R>(
  names: Iterable<string>,
  find: (name: string) => State | undefined,
  toRow: (state: State, name: string) => R,
): readonly R[] =>
  Array.from(names).flatMap((name) => {
    const state = find(name)
    return state === undefined ? [] : [toRow(state, name)]
  })
