/** `keyDigest`: SHA-256 of the key as its client sent it. */
export interface OutcomeAddress {
  readonly workspaceId: string
  readonly keyDigest: string
}

export interface StoredOutcome {
  /** 0 where nothing was ever stored. */
  readonly revision: number
  /** Empty where nothing is stored. */
  readonly bytes: Uint8Array
}

/** `taken`: another revision is stored. `full`: the store has no room. */
export type PutOutcome = { readonly revision: number } | { readonly refused: 'taken' | 'full' }

/** The records of idempotency keys, on the log's servers, kept for `outcomesKeptMs` after each write. */
export interface OutcomeStore {
  readonly isClosed: boolean
  /** Rejects with `log_unavailable` within `outcomeWriteMs`. */
  find(place: OutcomeAddress): Promise<StoredOutcome>
  /**
   * Replaces a revision; bytes that are fewer than the stored ones are never refused as `full`. Resolves when they are
   * stored and synced. What this very call wrote may be refused as `taken`, where its acknowledgement was lost. Rejects
   * with `log_unavailable` within `withinMs`: the bytes may be stored then, or not.
   */
  put(place: OutcomeAddress, bytes: Uint8Array, revision: number, withinMs: number): Promise<PutOutcome>
}
