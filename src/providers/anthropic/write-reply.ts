import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import type { Served } from '../canonical/format.ts'
import type { Reply, ReplyPart } from '../canonical/reply.ts'
import { citationOnWire } from './citation.ts'
import { inputOf } from './read-blocks.ts'
import { markSignature } from './signatures.ts'
import { endingOnWire } from './stop-reason.ts'
import { messagesUsageOnWire } from './usage.ts'

/** Of an answer that has not begun. Its id is made of the request's own, so that a client's log and the bill can be matched. */
export const emptyMessage = ({ requestId, model }: Served): JsonObject => ({
  id: `msg_${requestId.replaceAll('-', '')}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  ...endingOnWire(null, null),
  diagnostics: null,
})

type ToolCall = Pick<Extract<ReplyPart, { type: 'tool_call' }>, 'id' | 'name' | 'signature'>

/** With what another model needs back with a call: a client that returns blocks unchanged returns it too. */
export const toolUseBlock = (provider: string, { id, name, signature }: ToolCall, input: JsonObject): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input,
  caller: { type: 'direct' },
  ...(signature === null ? {} : { signature: markSignature(provider, signature) }),
})

const writePart = (part: ReplyPart, provider: string): JsonObject => {
  switch (part.type) {
    case 'text':
      return {
        type: 'text',
        text: part.text,
        ...(part.citations.length === 0 ? {} : { citations: part.citations.map(citationOnWire) }),
      }
    case 'thinking':
      return {
        type: 'thinking',
        thinking: part.text,
        signature: part.signature === null ? '' : markSignature(provider, part.signature),
      }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: markSignature(provider, part.data) }
    case 'tool_call':
      return toolUseBlock(provider, part, inputOf(part.arguments))
  }
}

export const writeMessagesReply = (
  { parts, stop, stopSequence, usage }: Reply & { readonly usage: Usage },
  served: Served,
): JsonObject => ({
  ...emptyMessage(served),
  content: parts.map((part) => writePart(part, served.provider)),
  ...endingOnWire(stop, stopSequence),
  usage: messagesUsageOnWire(usage),
})
