/** Where what stands under a key is found: by workspace, and the digest of the key as its client wrote it. */
export interface OutcomeAddress {
  readonly workspaceId: string
  readonly keyDigest: string
}

export interface StoredOutcome {
  /** 0 where nothing ever stood. */
  readonly revision: number
  /** Empty where nothing stands. */
  readonly bytes: Uint8Array
}

/** Whether something was put: its revision, or why not. `taken`: another revision stands. `full`: no more is kept. */
export type PutOutcome = { readonly revision: number } | { readonly refused: 'taken' | 'full' }

/** What stands under idempotency keys, on the log's servers, for as long as `outcomesKeptMs` after it was put. */
export interface OutcomeStore {
  /** True once nothing is put any more. */
  readonly isClosed: boolean
  /** Rejects with `log_unavailable` within `outcomeWriteMs`. */
  find(place: OutcomeAddress): Promise<StoredOutcome>
  /**
   * Puts bytes in the place of a revision; what is smaller than what stands there is never refused as `full`. Resolves when they are stored
   * and synced. What this very call put may be told as `taken`, where its acknowledgement was lost. Rejects with `log_unavailable` within
   * `withinMs`: they may stand then, or not.
   */
  put(place: OutcomeAddress, bytes: Uint8Array, revision: number, withinMs: number): Promise<PutOutcome>
}
