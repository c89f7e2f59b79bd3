import type { ServedWith } from '../../domain/pricing/charge.ts'
import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import type { PriceSheet, Usage } from '../../events/types.ts'
import type { Provider } from './provider.ts'

export interface UpstreamCallRequest {
  readonly requestId: string
  /** Absent in a check of a provider. */
  readonly workspaceId?: string
  readonly body: JsonObject
  /** Of the body as it came; absent in a check of a provider. */
  readonly bodyBytes?: number
  readonly stream: boolean
  /** Output tokens of each answer that the wallet can pay for; null when the wallet is not the limit. */
  readonly outputCap: number | null
  /** The caller's headers that may be forwarded to an upstream of the surface's own format, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Target {
  readonly provider: Provider
  readonly model: string
  readonly upstreamModel: string
  readonly sheet: PriceSheet
  /** Seconds since the epoch. */
  readonly calledAtSeconds: number
  /** Absent: as when it was called. */
  readonly nowSeconds?: () => number
}

export interface UpstreamRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** To be written as JSON. */
  readonly body: object
  /** Types of the built-in tools that the caller offers and the upstream does not have. */
  readonly droppedTools?: readonly string[]
}

/** The types of tools that were left out of `sent`, for its header. */
export const droppedTools = (asked: JsonObject, sent: JsonObject): Pick<UpstreamRequest, 'droppedTools'> => {
  const kept = new Set(asArray(sent['tools']))
  const dropped = asArray(asked['tools']).filter((tool) => !kept.has(tool))
  return dropped.length === 0
    ? {}
    : { droppedTools: [...new Set(dropped.map((tool) => asText(asObject(tool)['type'])))] }
}

/** The text that was delivered to the client: counted where the upstream reports no usage. */
export interface Delivered {
  readonly texts: readonly string[]
  readonly reasoningTexts: readonly string[]
  readonly charactersBeyond: number
  readonly characters: number
  /** Of data in place of thinking which is not shown. */
  readonly unseenCharacters?: number
  readonly audioTokens?: number
  readonly imageTokens?: number
  /** Calls of built-in tools that had ended by then, where they are counted in the answer itself. */
  readonly toolCalls?: Usage['toolCalls']
}

/** Bytes, or JSON that is yet to be written. */
export type AnswerBody = Uint8Array | JsonObject

export interface UpstreamAnswer {
  readonly json: JsonObject
  readonly reportedUsage: Usage | null
  /** Where the answer reports it beside its usage. */
  readonly servedWith?: ServedWith | undefined
  readonly delivered: Delivered
  /** The id under which the upstream keeps the answer, for later requests; null or absent where it keeps none. */
  readonly storedId?: string | null
  /** The client's body where we write the answer; absent where the upstream's bytes are forwarded. */
  readonly body?: AnswerBody
}

export interface AnswerFault {
  readonly fault: string
}

export interface UpstreamRefusal {
  readonly message: string
  readonly code: string | null
  readonly param: string | null
  /** Until a repetition, where the body names that. */
  readonly retryAfterMs?: number
}

/** `push`, `end`: the bytes that may be sent now, or null; the closing event waits until the charge is acknowledged. */
export interface StreamRelay {
  readonly state: 'open' | 'done' | 'broken'
  /** True from the first event that is an answer: no other candidate can serve then. */
  readonly answering: boolean
  readonly fault: string | null
  /** Every answer asked for has ended, and no content followed the reported usage: it is final. */
  readonly isFinished: boolean
  /** No more content is expected, though that is not certain: only the end, and the usage with it. */
  readonly contentIsOver: boolean
  readonly reportedUsage: Usage | null
  /** As in UpstreamAnswer; undefined until it is reported. */
  readonly servedWith?: ServedWith | undefined
  readonly delivered: Delivered
  /** As in UpstreamAnswer; known from the first event on. */
  readonly storedId?: string | null
  /** What the upstream sent as the reason of a failure within its stream, where clients read that: see ErrorDetails. */
  readonly failedResponse?: JsonObject | null
  /** The upstream has sent an error, and its failed response may follow. */
  readonly isFailing?: boolean
  push(bytes: Uint8Array): Uint8Array | null
  end(): Uint8Array | null
  /** The closing bytes; `counted` where the upstream reported no usage. */
  closing(counted: Usage | null): Uint8Array
}

export interface UpstreamDialect {
  buildRequest(target: Target, request: UpstreamCallRequest): UpstreamRequest
  /** As `buildRequest`, in steps; absent where that is short for each request. */
  buildSteps?(target: Target, request: UpstreamCallRequest): Generator<void, UpstreamRequest>
  readAnswer(target: Target, request: UpstreamCallRequest, body: Uint8Array): UpstreamAnswer | AnswerFault
  completeAnswer(answer: UpstreamAnswer, counted: Usage, target: Target, request: UpstreamCallRequest): AnswerBody
  openRelay(target: Target, request: UpstreamCallRequest): StreamRelay
  /** As `openRelay`, in steps; absent where that is short for each request. */
  openSteps?(target: Target, request: UpstreamCallRequest): Generator<void, StreamRelay>
  countUsage(target: Target, request: UpstreamCallRequest, delivered: Delivered): Promise<Usage>
  readRefusal(provider: Provider, body: Uint8Array): UpstreamRefusal | null
}

export function* buildInSteps(
  dialect: UpstreamDialect,
  target: Target,
  request: UpstreamCallRequest,
): Generator<void, UpstreamRequest> {
  return dialect.buildSteps === undefined
    ? dialect.buildRequest(target, request)
    : yield* dialect.buildSteps(target, request)
}

export function* openInSteps(
  dialect: UpstreamDialect,
  target: Target,
  request: UpstreamCallRequest,
): Generator<void, StreamRelay> {
  return dialect.openSteps === undefined
    ? dialect.openRelay(target, request)
    : yield* dialect.openSteps(target, request)
}
