import type { Observer } from './observer.ts'

/** W3C Trace Context, by the names of its headers. */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string
}

/** A request at its edge; instants are those of `performance.now()`. */
interface TracedRequest {
  readonly requestId: string
  readonly method: string
  readonly scheme: string
  readonly path: string
  /** The pattern of the path; null where there is none. */
  readonly route: string | null
  readonly surface: string
  /** Undefined where the connection ended before the answer. */
  readonly status: number | undefined
  readonly code: string | undefined
  readonly workspaceId: string | undefined
  readonly keyId: string | undefined
  readonly model: string | undefined
  readonly provider: string | undefined
  readonly fallbackLevel: number | undefined
  readonly authenticatedMs: number | null
  readonly admittedMs: number | null
  readonly routedMs: number | null
  readonly endedMs: number
}

export interface RequestSpan {
  readonly traceId: string
  /** Otherwise nothing is recorded, and it need not be ended. */
  readonly isSampled: boolean
  /** For whom the request calls. */
  readonly context: TraceContext
  /** With the spans of admission and record. */
  end(request: TracedRequest): void
}

interface TracedTarget {
  readonly model: string
  readonly upstreamModel: string
  readonly provider: {
    readonly name: string
    readonly dialect: string
    readonly profile: string
    readonly deployment?: string | undefined
  }
}

interface TracedFailure {
  readonly status: number | null
  readonly reason: string | null
}

interface TracedBill {
  readonly usage?: Parameters<Observer['requestClosed']>[0]['usage'] & {}
  readonly source?: string
  /** USD. */
  readonly total?: string
  readonly outcome?: string
  /** Of a request that failed. */
  readonly reason?: string
  readonly attempts: readonly TracedFailure[]
}

/** Of a request at its proxy: one attempt after the other, and the bill. */
export interface CallSpans {
  /** Null where the trace is not sampled. */
  readonly traceId: string | null
  /** Returns what the upstream's request carries. */
  attemptCalled(target: TracedTarget, url: string): TraceContext
  firstByte(): void
  attemptFailed(failure: TracedFailure): void
  /** Ends the attempt that is open, if any; `endedMs` is when its answer ended. */
  settled(bill: TracedBill, endedMs: number): void
  /** The append that began at `begunMs` has ended. */
  recorded(begunMs: number, bill: TracedBill, fault?: unknown): void
}

interface TracedCall {
  readonly requestId: string
  readonly surface: string
  readonly stream: boolean
  /** Of a request that generates nothing. */
  readonly question?: { readonly type: string }
  readonly trace?: TraceContext
}

export interface Tracing {
  /** From now on. Headers that are no valid trace context are ignored. */
  request(headers: { readonly [name: string]: string | readonly string[] | undefined }): RequestSpan
  /** Null where its edge does not sample the request: the upstream's request carries its context as it is. */
  call(call: TracedCall): CallSpans | null
}
