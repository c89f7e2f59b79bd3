import type { LedgerSnapshot } from '../../projections/load-ledger.ts'
import type { RowOf, Tables } from '../../projections/tables.ts'

type RowsOf<Table extends keyof Tables> = readonly RowOf<Table>[]

/** What a batch of frames makes of the tables, by what is done with the rows. */
export interface ProjectedRows {
  /** Rows that are written once. */
  readonly inserted: {
    readonly [T in
      | 'prices'
      | 'wallet_references'
      | 'wallet_entries'
      | 'requests'
      | 'open_requests'
      | 'usage_entries'
      | 'charge_places'
      | 'task_charges'
      | 'late_verdicts'
      | 'admin_changes']: RowsOf<T>
  }
  /** Rows that take the place of the one with the same key. */
  readonly replaced: {
    readonly [T in
      | 'writers'
      | 'workspaces'
      | 'keys'
      | 'aliases'
      | 'routers'
      | 'key_spending'
      | 'limits'
      | 'plans'
      | 'subscriptions'
      | 'wallets'
      | 'holds'
      | 'tasks'
      | 'external_tasks']: RowsOf<T>
  }
  /** Rows whose figures are added to the one with the same key. */
  readonly added: { readonly usage_by_day: RowsOf<'usage_by_day'> }
  /** Rows that are written where none has their key; of several with one key the first. */
  readonly first: { readonly [T in 'stored_responses' | 'seals']: RowsOf<T> }
  /** Rows in the order of their key, of which those are written whose key is above all that are there. */
  readonly rising: { readonly movement_minutes: RowsOf<'movement_minutes'> }
  /** Keys of rows that go; they go before others come. */
  readonly deleted: {
    readonly subscriptions: readonly Pick<RowOf<'subscriptions'>, 'workspace_id'>[]
    readonly holds: readonly Pick<RowOf<'holds'>, 'workspace_id' | 'hold_id'>[]
    readonly open_requests: readonly Pick<RowOf<'open_requests'>, 'request_id'>[]
  }
}

export interface ProjectionBatch {
  /** The sequence at which the tables must stand. */
  readonly fromSequence: number
  readonly toSequence: number
  /** Id of the log's first frame, in the batch that has it. */
  readonly firstFrame: string | null
  readonly rows: ProjectedRows
}

/** The tables, as the projector writes them. */
export interface ProjectionStore {
  /** The ledger as the tables have it. */
  load(): Promise<LedgerSnapshot>
  /**
   * Writes a batch's rows and moves the checkpoint, in one transaction. False, and nothing written, when the checkpoint no longer
   * stands at `fromSequence`. Rejects with `RefusedRows` for rows that the tables will never take; after any other rejection the
   * batch may or may not have been written.
   */
  apply(batch: ProjectionBatch): Promise<boolean>
  /** The sequence at which the tables stand. */
  checkpoint(): Promise<number>
}

/** The tables will never take these rows: an event says what cannot be. */
export class RefusedRows extends Error {
  override readonly name = 'RefusedRows'
}
