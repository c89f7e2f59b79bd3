import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import type { AnswerFault, Target, UpstreamRefusal, UpstreamRequest } from '../dialect.ts'
import type { Provider } from '../provider.ts'
import type { SseEvent } from '../sse.ts'
import type { Conversation } from './conversation.ts'
import type { Reply, ReplyEvent } from './reply.ts'

/** Who answers, as the client is told. */
export interface Served {
  /** The public model id. */
  readonly model: string
  /** Makes the ids and instants of an answer: the request's own id, and seconds since the epoch. */
  readonly requestId: string
  readonly createdSeconds: number
}

/** A format that clients speak. */
export interface ClientFormat {
  /** Throws GatewayError `unsupported_parameter` or `invalid_value` with the field, for what has no canonical form. */
  readRequest(body: JsonObject): Conversation
  writeReply(reply: Reply & { readonly usage: Usage }, served: Served, body: JsonObject): JsonObject
  openWriter(served: Served, body: JsonObject): ReplyWriter
}

/** Writes a streamed answer as the SSE events of a format. Bytes, empty where an event says nothing there. */
export interface ReplyWriter {
  write(event: ReplyEvent): string
  /** The closing events, with the final usage. */
  close(usage: Usage): string
}

export interface ReplyRequest {
  readonly stream: boolean
  /** Output tokens that the wallet can pay for; null when the wallet is not the limit. */
  readonly outputCap: number | null
}

/** A format that upstreams speak. */
export interface UpstreamFormat {
  /** Throws GatewayError `unsupported_parameter` with the client's field for what the upstream cannot be asked. */
  writeRequest(conversation: Conversation, target: Target, asking: ReplyRequest): UpstreamRequest
  readReply(target: Target, json: JsonObject): Reply | AnswerFault
  openReader(target: Target): ReplyReader
  /** Calls of built-in tools that every answer to the conversation makes and that none tells: part of each usage. */
  impliedToolCalls?(conversation: Conversation, target: Target): Usage['toolCalls']
  readRefusal(provider: Provider, body: Uint8Array): UpstreamRefusal | null
}

/** Reads the SSE events of a format. */
export interface ReplyReader {
  /** What an event says, in order; a fault ends the stream. */
  read(event: SseEvent): readonly ReplyEvent[] | AnswerFault
  /** True once the upstream has said all, its usage included. */
  readonly isDone: boolean
  /** True once `stop` was read: an end without a closing event is an end all the same. */
  readonly isFinished: boolean
  /** Nothing more is to be said, as far as can be known: true at the latest when `isFinished` is. */
  readonly contentIsOver: boolean
}
