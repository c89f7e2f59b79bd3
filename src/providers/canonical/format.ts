import type { ServedWith } from '../../domain/pricing/charge.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import type { AnswerFault, Target, UpstreamRefusal, UpstreamRequest } from '../dialect/dialect.ts'
import type { Provider } from '../dialect/provider.ts'
import type { SseEvent } from '../dialect/sse.ts'
import type { Conversation } from './conversation.ts'
import type { Reply, ReplyEvent } from './reply.ts'

export interface Served {
  readonly model: string
  readonly requestId: string
  readonly createdSeconds: number
  readonly nowSeconds: () => number
  /** Whose model answered. */
  readonly provider: string
}

/** What decides by which API of a provider a request is answered. */
export interface Demands extends Pick<Conversation, 'reasoning' | 'stopSequences'> {
  readonly hasFunctions: boolean
}

export interface ClientFormat {
  /**
   * `provider`: whose model will read it. Throws GatewayError `unsupported_parameter` or `invalid_value` with the field,
   * for what has no canonical form. In steps.
   */
  readRequest(body: JsonObject, provider: string): Generator<void, Conversation>
  writeReply(reply: Reply & { readonly usage: Usage }, served: Served, body: JsonObject): JsonObject
  /** The writer keeps nothing of `body` but short texts, and others that it has written. */
  openWriter(served: Served, body: JsonObject): ReplyWriter
  /** As `openWriter`, in steps; absent where that is short for each request. */
  openWriterSteps?(served: Served, body: JsonObject): Generator<void, ReplyWriter>
}

/** Of a surface whose requests choose among the APIs of a provider. */
export interface ChoosingFormat extends ClientFormat {
  /** Without reading its messages; throws as `readRequest` does. */
  readDemands(body: JsonObject): Demands
}

/** Writes a streamed answer as the SSE events of a format. An empty text where the format has no event for it. */
export interface ReplyWriter {
  /** What comes before the first event, and may repeat a large request. */
  begin?(): readonly Uint8Array[]
  write(event: ReplyEvent): string
  close(usage: Usage): string | readonly Uint8Array[]
}

export interface ReplyRequest {
  readonly stream: boolean
  readonly outputCap: number | null
}

export interface UpstreamFormat {
  /** Throws GatewayError `unsupported_parameter` with the client's field for what the upstream does not support. In steps. */
  writeRequest(conversation: Conversation, target: Target, asking: ReplyRequest): Generator<void, UpstreamRequest>
  readReply(target: Target, json: JsonObject): Reply | AnswerFault
  openReader(target: Target): ReplyReader
  /** Whether it searches the web as the conversation asks. Absent: it always does. */
  offersSearch?(conversation: Conversation, target: Target): boolean
  /** Calls of built-in tools that every answer to the conversation makes without reporting them: part of each usage. */
  impliedToolCalls?(target: Target): ((conversation: Conversation) => Usage['toolCalls']) | null
  readRefusal(provider: Provider, body: Uint8Array): UpstreamRefusal | null
}

export interface ReplyReader {
  readonly servedWith?: ServedWith | undefined
  read(event: SseEvent): readonly ReplyEvent[] | AnswerFault
  /** True once the upstream has sent everything, its usage included. */
  readonly isDone: boolean
  /** True once `stop` was read: an end without a closing event counts as an end all the same. */
  readonly isFinished: boolean
  /** No more content is expected, though that is not certain: true at the latest when `isFinished` is. */
  readonly contentIsOver: boolean
}
