import type { Event, EventType, Fact, FactOf } from '../events/envelope.ts'

export interface Frame {
  readonly sequence: number
  /** The workspace whose wallet subject carries the frame; null on a journal subject. */
  readonly walletSubject: string | null
  readonly writer: string
  readonly counter: number
  readonly events: readonly Event[]
}

export interface Appended {
  readonly sequence: number
}

/**
 * The durable log. `append` resolves when the frame that holds the facts is stored and synced, and retries the same
 * frame until then; it rejects only with `log_unavailable` when the queue is full or the log was closed before the
 * facts were sent.
 */
export interface EventLog {
  append(facts: readonly Fact[]): Promise<Appended>
  /** Only if `expectedSequence` (0: none) is still the last. On `conflict` catch up to `sequence` and decide again. */
  appendToWallet(
    workspaceId: string,
    facts: readonly Fact[],
    expectedSequence: number,
  ): Promise<Appended | { readonly conflict: true; readonly sequence: number }>
  /** Appends without a sequence check: for facts that need no decision and carry an id that the fold honours once. */
  postToWallet(workspaceId: string, facts: readonly Fact[]): Promise<Appended>
  /** In order, one frame at a time, without end; rejects `done` on a gap or a frame that cannot be read. */
  follow(fromSequence: number, onFrame: (frame: Frame) => void | Promise<void>): Follower
  lastSequence(): Promise<number>
  oldestUnacknowledgedMs(): number
  readonly writer: string
}

export interface Follower {
  /** Resolves when it was stopped, or the log closed. */
  readonly done: Promise<void>
  /** Since when it may lack what the log has, by `performance.now()`; null while the log's end comes as it is stored. */
  readonly behindSinceMs: number | null
  stop(): Promise<void>
}

/** The log as one role has it: it can append only what its manifest lists. */
export interface LogOf<Emits extends EventType> extends Omit<EventLog, 'append' | 'appendToWallet' | 'postToWallet'> {
  append(facts: readonly FactOf<Emits>[]): Promise<Appended>
  appendToWallet(
    workspaceId: string,
    facts: readonly FactOf<Emits>[],
    expectedSequence: number,
  ): ReturnType<EventLog['appendToWallet']>
  postToWallet(workspaceId: string, facts: readonly FactOf<Emits>[]): Promise<Appended>
}
