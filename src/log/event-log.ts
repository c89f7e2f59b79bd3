import type { Event, EventType, Fact, FactOf } from '../events/envelope.ts'

/** A journal frame as it stands in the log: what one writer stored with one acknowledgement. */
export interface Frame {
  /** Stream sequence: the order. */
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
 * The durable log. `append` resolves when the frame that holds the facts is stored and synced, and retries the same frame until then;
 * it rejects only with `log_unavailable` when the queue is full or the log was closed before the facts were sent.
 */
export interface EventLog {
  append(facts: readonly Fact[]): Promise<Appended>
  /**
   * Stores facts on the wallet subject of a workspace only if `expectedSequence` still is the subject's last one (0: none).
   * Resolves `conflict` when another frame came first: catch up to `sequence`, the subject's last, and decide again.
   */
  appendToWallet(
    workspaceId: string,
    facts: readonly Fact[],
    expectedSequence: number,
  ): Promise<Appended | { readonly conflict: true; readonly sequence: number }>
  /** Stores facts on the wallet subject whatever came before: for facts that need no decision and carry an id that the fold honours once. */
  postToWallet(workspaceId: string, facts: readonly Fact[]): Promise<Appended>
  /** Calls `onFrame` for every frame from `fromSequence` on, in order, one at a time, for ever; rejects `done` on a gap or a frame that cannot be read. */
  follow(fromSequence: number, onFrame: (frame: Frame) => void | Promise<void>): Follower
  /** The sequence of the last frame stored, 0 when there is none; asks the server. */
  lastSequence(): Promise<number>
  /** Milliseconds for which the oldest unacknowledged frame has waited, 0 when none waits. */
  oldestUnacknowledgedMs(): number
  readonly writer: string
}

export interface Follower {
  /** Settles when the follower has stopped: resolves after `stop`, rejects with the fault that ended it. */
  readonly done: Promise<void>
  stop(): Promise<void>
}

/** The log as one role sees it: it can append only what its manifest lists. */
export interface LogOf<Emits extends EventType> extends Omit<EventLog, 'append' | 'appendToWallet' | 'postToWallet'> {
  append(facts: readonly FactOf<Emits>[]): Promise<Appended>
  appendToWallet(
    workspaceId: string,
    facts: readonly FactOf<Emits>[],
    expectedSequence: number,
  ): ReturnType<EventLog['appendToWallet']>
  postToWallet(workspaceId: string, facts: readonly FactOf<Emits>[]): Promise<Appended>
}
