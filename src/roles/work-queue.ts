import type { Check } from '../runtime/health.ts'
import type { RunningRole } from './role.ts'

export interface QueueConsumer extends RunningRole {
  readonly check: Check
}

/** An item whose lease is not renewed goes to another consumer: it may arrive twice, which consumers must detect. */
export interface WorkQueue {
  /** Resolves once the item is synced; an item with the same id stays. Rejects with `log_unavailable`. */
  put(id: string, bytes: Uint8Array): Promise<void>
  /** A delivered item still has to be ended by its consumer. Rejects with `log_unavailable`. */
  withdraw(id: string): Promise<void>
  /** Delivers at most `itemsMax` items at a time; on stop, open ones go to another consumer at once. */
  take(itemsMax: number, onItem: (item: WorkItem) => void): QueueConsumer
}

export interface WorkItem {
  readonly id: string
  /** This time included; if it grows while held, another consumer may have had the item between. */
  readonly deliveries: number
  /** Another consumer may have it, too, although `deliveries` does not show it: a server that was killed may have lost its record. */
  readonly mayBeShared: boolean
  /** Null when the content is gone. */
  bytes(): Promise<Uint8Array | null>
  /** Renews the lease; false where the queue cannot be reached, or the item is not held any more. */
  renew(): boolean
  /** Removes the item for good; resolves once the queue has acknowledged it. */
  done(): Promise<void>
  /** Delivers the item once more, not before `delayMs`. */
  again(delayMs: number): void
}
