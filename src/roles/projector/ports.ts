import type { LedgerSnapshot } from '../../projections/load-ledger.ts'
import type { RowOf, Tables } from '../../projections/tables.ts'

type RowsOf<Table extends keyof Tables> = readonly RowOf<Table>[]

/** The rows of a batch of frames, by how they are written. */
export interface ProjectedRows {
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
  readonly added: { readonly usage_by_day: RowsOf<'usage_by_day'> }
  /** Written where no row has their key; of several with one key the first. */
  readonly first: { readonly [T in 'stored_responses' | 'seals']: RowsOf<T> }
  /** In the order of their key; those are written whose key is above all that are there. */
  readonly rising: { readonly movement_minutes: RowsOf<'movement_minutes'> }
  /** Keys of rows to delete, before others are inserted. */
  readonly deleted: {
    readonly subscriptions: readonly Pick<RowOf<'subscriptions'>, 'workspace_id'>[]
    readonly holds: readonly Pick<RowOf<'holds'>, 'workspace_id' | 'hold_id'>[]
    readonly open_requests: readonly Pick<RowOf<'open_requests'>, 'request_id'>[]
  }
}

export interface ProjectionBatch {
  readonly fromSequence: number
  readonly toSequence: number
  /** Id of the log's first frame, in the batch that has it. */
  readonly firstFrame: string | null
  readonly rows: ProjectedRows
}

export interface ProjectionStore {
  load(): Promise<LedgerSnapshot>
  /**
   * Writes a batch's rows and moves the checkpoint, in one transaction. False, and nothing written, when the checkpoint
   * is no longer at `fromSequence`. Rejects with `RefusedRows` for rows that the tables will never take; after any
   * other rejection the batch may or may not have been written.
   */
  apply(batch: ProjectionBatch): Promise<boolean>
  checkpoint(): Promise<number>
}

/** The tables will never take these rows: an event holds an impossible value. */
export class RefusedRows extends Error {
  override readonly name = 'RefusedRows'
}
