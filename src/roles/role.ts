import type { Candidate } from '../domain/routing/plan.ts'
import type { VideoKind } from '../domain/video/request.ts'
import { GatewayError } from '../errors.ts'
import type { Event, EventType, Fact, FactOf } from '../events/envelope.ts'
import type { OpenCalls } from './open-calls.ts'

export const roleNames = ['edge', 'proxy', 'video-poller', 'projector', 'scheduler'] as const
export type RoleName = (typeof roleNames)[number]

/** What a process runs as: one role, all of them, or one command. The log names it as the source of what it appends. */
export type ProcessRole = RoleName | 'gateway' | 'operator'

/** Milliseconds since the epoch. */
export type Clock = () => number
/** A fresh UUIDv7. */
export type NewId = () => string

export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

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

export type { Candidate }

/** A question beside an answer: free, put to the first candidate's provider, and not in the log. */
export type Question =
  | { readonly type: 'count_tokens' }
  | { readonly type: 'get_response' | 'delete_response'; readonly responseId: string; readonly query: string }
  /** Answered with `TaskResults`. */
  | { readonly type: 'get_video_task'; readonly kind: VideoKind; readonly vendorTaskId: string }

export type Surface = 'chat' | 'messages' | 'responses'
export type JsonRecord = { readonly [key: string]: unknown }

/** A request on its way from an edge to a proxy. Amounts are decimal USD, since a call can cross processes. */
export interface RoutedRequest {
  readonly requestId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly surface: Surface | 'video'
  /** The validated body in the surface's own format, routing extensions removed, `model` as asked for. */
  readonly body: JsonRecord
  readonly stream: boolean
  /** Of the caller's headers, those that an upstream of the surface's own dialect is given; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Absent: an answer is asked for. */
  readonly question?: Question
  readonly candidates: readonly Candidate[]
  /** True when the caller named a chain or a router: its headers tell the level. */
  readonly chain: boolean
  readonly allowanceId: string | null
  readonly reserved: string
  /** Output tokens the wallet can pay for; null when the wallet is not the limit. */
  readonly outputCap: number | null
  /** Milliseconds since the epoch. */
  readonly deadlineMs: number
}

/** A call that asks for an answer: it ends in the log. */
export type AnswerRequest = RoutedRequest & { readonly surface: Surface; readonly question?: never }

export const asksForAnswer = (call: RoutedRequest): call is AnswerRequest => call.question === undefined

/** What comes back: one head, then bytes. A failure is a thrown GatewayError, before the head or after it. */
export type AnswerPart =
  | { readonly type: 'head'; readonly contentType: string; readonly level: number; readonly model: string }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }

/** A failed candidate chain tells its last level too, for the headers of the final error. */
export interface FailedCandidate {
  readonly level: number
  readonly model: string
}

/** No proxy will close this request in the log: none took it, or the one that did is gone. Whoever dispatched it closes it. */
export class DispatchLost extends GatewayError {
  override readonly name = 'CallLost'
}

/**
 * The port between edge and proxy; one implementation in the same process, one over NATS. `clientGone` fires when nobody reads any more.
 * A call stands in `openCalls` until it has ended, also where its client left before: an edge that stops shuts them down, and each is
 * closed in the log at once, as far as it came. The answer throws GatewayError, and `CallLost` where the proxy that would record the request's end is not there.
 */
export type Dispatch = (
  call: RoutedRequest,
  clientGone: AbortSignal,
  openCalls?: OpenCalls,
) => AsyncIterable<AnswerPart>

/** A manifest: what a role consumes and what it may say. An append of anything else does not compile. */
export interface Role<Emits extends EventType, Parts, Running extends RunningRole = RunningRole> {
  readonly name: RoleName
  readonly emits: readonly Emits[]
  readonly start: (parts: Parts) => Promise<Running>
}

export interface RunningRole {
  /** Finishes work in flight within the stop limit. */
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

export const defineRole = <
  Emits extends EventType,
  Parts extends { readonly log: LogOf<Emits> },
  Running extends RunningRole,
>(
  role: Role<Emits, Parts, Running>,
): Role<Emits, Parts, Running> => role
