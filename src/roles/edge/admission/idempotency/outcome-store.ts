import { GatewayError } from '../../../../errors/gateway-error.ts'
import { admissionLimits } from '../limits.ts'

/** `keyDigest`: SHA-256 of the key as its client sent it. */
export interface OutcomeAddress {
  readonly workspaceId: string
  readonly keyDigest: string
}

export interface StoredOutcome {
  /** 0 where nothing was ever stored, or it was removed. */
  readonly revision: number
  /** Empty where nothing is stored. */
  readonly bytes: Uint8Array
}

/** `taken`: another revision is stored. `full`: the store has no room. */
export type PutOutcome = { readonly revision: number } | { readonly refused: 'taken' | 'full' }

/** The records of idempotency keys, on the log's servers, kept for `outcomesKeptMs` after each write. */
export interface OutcomeStore {
  readonly isClosed: boolean
  /** Infinity where the store has no bound. Rejects with `log_unavailable`. */
  freeBytes(): Promise<number>
  /** Rejects with `log_unavailable` within `outcomeWriteMs`. */
  find(place: OutcomeAddress): Promise<StoredOutcome>
  /**
   * Replaces a revision; bytes that are fewer than the stored ones are never refused as `full`. Resolves when they are
   * stored and synced. What this very call wrote may be refused as `taken`, where its acknowledgement was lost. Rejects
   * with `log_unavailable` within `withinMs`: the bytes may be stored then, or not.
   */
  put(place: OutcomeAddress, bytes: Uint8Array, revision: number, withinMs: number): Promise<PutOutcome>
  /** Removes a revision, so that it takes no room. False where another one is stored, or it could not be removed. */
  remove(revision: number): Promise<boolean>
}

/** For a new key; what is stored is replayed. */
export const storeIsFull = (): GatewayError =>
  new GatewayError(
    'log_unavailable',
    'No more idempotency keys can be stored right now. Try again later, or send the request without one.',
    { retryAfterSeconds: admissionLimits.outcomeRetryAfterSecondsMax },
  )
