import type { Check } from '../runtime/health.ts'
import type { RunningRole } from './role.ts'

/** Takes work until it is stopped. */
export interface QueueConsumer extends RunningRole {
  /** Whether the queue hands out to this taker at the moment. */
  readonly check: Check
}

/**
 * Work that waits on the log's servers until somebody has done it: each item is handed to one taker at a time, and to another once that
 * one is silent for longer than the lease. An item may be handed out twice: whoever does it must be able to tell.
 */
export interface WorkQueue {
  /** Resolves once the item is stored and synced; one that stands under the id already is left as it is. Rejects with `log_unavailable`. */
  put(id: string, bytes: Uint8Array): Promise<void>
  /** Removes an item that nobody needs; one that was handed out is still its taker's to end. Rejects with `log_unavailable`. */
  withdraw(id: string): Promise<void>
  /** Hands out items, at most `itemsMax` at a time, until it is stopped; what is not done by then goes to another at once. */
  take(itemsMax: number, onItem: (item: WorkItem) => void): QueueConsumer
}

export interface WorkItem {
  readonly id: string
  /** How often it was handed out, this time included; it grows when its holder gets it once more, and others may have had it between. */
  readonly deliveries: number
  /** When it was put, in milliseconds since the epoch. */
  readonly putMs: number
  /** What was put; null when it is gone. */
  bytes(): Promise<Uint8Array | null>
  /** Renews the lease; false where the queue cannot be told, or the item is not held any more. */
  renew(): boolean
  /** The item is gone for good; resolves once the queue has taken note. */
  done(): Promise<void>
  /** Hands the item out once more, not before `delayMs`. */
  again(delayMs: number): void
}
