import type { JsonObject } from '../encoding/json.ts'
import type { PriceSheet, Usage } from '../events/types.ts'
import type { Provider } from './provider.ts'

/** What of a routed call an upstream is asked. */
export interface UpstreamCallRequest {
  readonly requestId: string
  /** The validated body in the surface's format. */
  readonly body: JsonObject
  readonly stream: boolean
  /** Output tokens of each answer that the wallet can pay for; null when the wallet is not the limit. */
  readonly outputCap: number | null
  /** The caller's headers that may go on to an upstream of the surface's own format, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Whom it is asked of, and when. */
export interface Target {
  readonly provider: Provider
  /** The public model id. */
  readonly model: string
  readonly upstreamModel: string
  readonly sheet: PriceSheet
  /** Seconds since the epoch. */
  readonly askedSeconds: number
}

export interface UpstreamRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The text of an answer as far as the client was given it: what is counted where the upstream tells no usage. */
export interface Delivered {
  readonly texts: readonly string[]
  readonly reasoningTexts: readonly string[]
  /** Characters beyond the bound of what is kept. */
  readonly charactersBeyond: number
  /** Of all that was said, kept or not. */
  readonly characters: number
  /** Calls of built-in tools that had ended by then, where the answer itself tells of them. */
  readonly toolCalls?: Usage['toolCalls']
}

/** A whole answer that was understood. */
export interface UpstreamAnswer {
  readonly json: JsonObject
  readonly reportedUsage: Usage | null
  readonly delivered: Delivered
  /** The upstream keeps the answer under this id, by which later requests may name it; null or absent where it keeps none. */
  readonly storedId?: string | null
  /** What the client is given where its usage was told and we write the answer ourselves; absent where the upstream's own bytes go on. */
  readonly body?: Uint8Array
}

/** An answer that is none, in a word for the attempt's record. */
export interface AnswerFault {
  readonly fault: string
}

/** What an upstream says of a request that it refuses, fit for the client's eyes. */
export interface UpstreamRefusal {
  readonly message: string
  readonly code: string | null
  readonly param: string | null
}

/**
 * Relays a stream event by event. `push` and `end` give the bytes that may go to the client now, or null where there are none;
 * the closing event stays back until the bill is acknowledged.
 */
export interface StreamRelay {
  /** `open` until the closing event, or until the upstream broke the stream. */
  readonly state: 'open' | 'done' | 'broken'
  /** True from the first event on that is an answer: the candidate serves. */
  readonly answering: boolean
  /** Why it broke. */
  readonly fault: string | null
  /** Every answer asked for has come to its end, and nothing was said behind the usage that was told: it is final. */
  readonly isFinished: boolean
  /** Nothing more is to be said, as far as can be known: what is awaited is the end, and the usage with it. */
  readonly contentIsOver: boolean
  readonly reportedUsage: Usage | null
  readonly delivered: Delivered
  /** As of an Answer; known from the first event on. */
  readonly storedId?: string | null
  /** The failed response that the upstream sent, on a surface whose streams end with one: see ErrorDetails. */
  readonly failedResponse?: JsonObject | null
  /** The upstream has sent an error, and its failed response may follow. */
  readonly isFailing?: boolean
  push(bytes: Uint8Array): Uint8Array | null
  /** The upstream has closed the stream. */
  end(): Uint8Array | null
  /** The closing bytes; `counted` where the upstream told no usage. */
  closing(counted: Usage | null): Uint8Array
}

/** How a provider serves one surface. */
export interface UpstreamDialect {
  /** Throws GatewayError where the provider cannot be asked for what the body says. */
  buildRequest(target: Target, asked: UpstreamCallRequest): UpstreamRequest
  readAnswer(target: Target, asked: UpstreamCallRequest, body: Uint8Array): UpstreamAnswer | AnswerFault
  /** The body of an answer that told no usage, with the counted one. */
  completeAnswer(answer: UpstreamAnswer, counted: Usage, target: Target, asked: UpstreamCallRequest): Uint8Array
  openRelay(target: Target, asked: UpstreamCallRequest): StreamRelay
  countUsage(target: Target, asked: UpstreamCallRequest, delivered: Delivered): Promise<Usage>
  /** Null where the body is not an error of the dialect. */
  readRefusal(provider: Provider, body: Uint8Array): UpstreamRefusal | null
}
