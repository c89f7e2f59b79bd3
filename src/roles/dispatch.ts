import type { Candidate, Surface } from '../domain/routing/plan.ts'
import type { VideoKind } from '../domain/video/request.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { Collectable } from '../runtime/collectable.ts'
import type { TraceContext } from '../runtime/tracing.ts'
import type { OpenCalls } from './open-calls.ts'

/** A query that generates nothing: free, sent to the first candidate's provider, and not in the log. */
export type Question =
  | { readonly type: 'count_tokens' }
  | { readonly type: 'get_response' | 'delete_response'; readonly responseId: string; readonly query: string }
  | { readonly type: 'get_video_task'; readonly kind: VideoKind; readonly vendorTaskId: string }

export type JsonRecord = { readonly [key: string]: unknown }

/** A request on its way from an edge to a proxy. Amounts are decimal USD, since a call can cross processes. */
export interface RoutedRequest {
  readonly requestId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly surface: Surface | 'video'
  /** The validated body in the surface's own format, routing extensions removed, `model` as requested. May be parsed anew at each read. */
  readonly body: JsonRecord
  /** Returns the same in steps, where it may have to be parsed. */
  readonly bodySteps?: () => Generator<void, JsonRecord>
  /** Of the body as it came; absent for a question without one. */
  readonly bodyBytes?: number
  readonly stream: boolean
  /** The caller's headers that are passed to an upstream of the surface's own dialect; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly question?: Question
  /** Of a stream that its edge captures: once its client has left, its rest comes in one part at its end, up to this. */
  readonly capturedBytesMax?: number
  readonly candidates: readonly Candidate[]
  /** True when the caller named a chain or a router: the response headers name the level. */
  readonly chain: boolean
  readonly allowanceId: string | null
  readonly reserved: string
  /** Output tokens the wallet can pay for; null when the wallet is not the limit. */
  readonly outputCap: number | null
  /** Milliseconds since the epoch. */
  readonly deadlineMs: number
  /** Of its edge's span; absent: it is not traced there. */
  readonly trace?: TraceContext
}

/** A getter of a literal is in V8's old generation each time, and keeps its request there: only a large body has one. */
export const withBody = <Call extends object>(
  call: Call,
  body: Collectable<JsonRecord>,
): Call & Pick<RoutedRequest, 'body' | 'bodySteps'> => {
  if (body.isKept) return { ...call, body: body.value }
  return {
    ...call,
    get body() {
      return body.value
    },
    bodySteps: () => body.steps(),
  }
}

export type AnswerRequest = RoutedRequest & { readonly surface: Surface; readonly question?: never }

export const asksForAnswer = (call: RoutedRequest): call is AnswerRequest => call.question === undefined

/** One head, then bytes. A failure is a thrown GatewayError, before the head or after it. */
export type AnswerPart =
  | {
      readonly type: 'head'
      readonly contentType: string
      readonly level: number
      readonly model: string
      /** Types of the built-in tools that the caller offers and the model does not have. */
      readonly droppedTools?: readonly string[]
    }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }

/** Carries the last level of a failed chain, for the headers of the final error. */
export interface FailedCandidate {
  readonly level: number
  readonly model: string
}

/** No proxy will close this request in the log: none took it, or the one that did is gone. Its dispatcher closes it. */
export class DispatchLost extends GatewayError {
  override readonly name = 'DispatchLost'
}

/** The proxy had the whole answer, billed, and its reader took too long: by the client's fault or its edge's. */
export class AnswerUnread extends GatewayError {
  override readonly name = 'AnswerUnread'
}

/** The reason of a `clientGone` whose request is not read on: too many of its workspace are. */
export const cancelAtOnce = 'cancel_at_once'

/**
 * The port between edge and proxy; one implementation in the same process, one over NATS. `clientGone` fires when the
 * client stops reading. A call stays in `openCalls` until it has ended, also where its client left before: an edge that
 * stops shuts them down, and each is closed in the log at once, as far as it came. The answer throws GatewayError:
 * `DispatchLost` where the proxy that would record the request's end is not there, `AnswerUnread` where a whole one is overdue.
 */
export type Dispatch = (
  call: RoutedRequest,
  clientGone: AbortSignal,
  openCalls?: OpenCalls,
) => AsyncIterable<AnswerPart>
