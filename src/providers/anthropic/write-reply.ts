import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import type { Served } from '../canonical/format.ts'
import type { Reply, ReplyPart } from '../canonical/reply.ts'
import { citationOnWire } from './citation.ts'
import { inputOf } from './read-blocks.ts'
import { markSignature } from './signatures.ts'
import { messagesStopReason } from './stop-reason.ts'
import { messagesUsageOnWire } from './usage.ts'

/** Made of the request's own id, so that a client's log and the bill can be matched. */
export const messageId = ({ requestId }: Served): string => `msg_${requestId.replaceAll('-', '')}`

/** What another model needs back with a call; a client that returns blocks unchanged returns it too. */
export const callSignature = (provider: string, signature: string | null): JsonObject =>
  signature === null ? {} : { signature: markSignature(provider, signature) }

const writePart = (part: ReplyPart, provider: string): JsonObject => {
  switch (part.type) {
    case 'text':
      return {
        type: 'text',
        text: part.text,
        citations: part.citations.length === 0 ? null : part.citations.map(citationOnWire),
      }
    case 'thinking':
      return {
        type: 'thinking',
        thinking: part.text,
        signature: part.signature === null ? '' : markSignature(provider, part.signature),
      }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: markSignature(provider, part.data) }
    case 'tool_call': {
      const { id, name, signature } = part
      return { type: 'tool_use', id, name, input: inputOf(part.arguments), ...callSignature(provider, signature) }
    }
  }
}

export const writeMessagesReply = (reply: Reply & { readonly usage: Usage }, served: Served): JsonObject => ({
  id: messageId(served),
  type: 'message',
  role: 'assistant',
  model: served.model,
  content: reply.parts.map((part) => writePart(part, served.provider)),
  stop_reason: messagesStopReason(reply.stop),
  stop_sequence: reply.stopSequence,
  usage: messagesUsageOnWire(reply.usage),
})
