import type { ClientFormat, UpstreamFormat } from '../canonical/format.ts'
import { readConversation } from './read-conversation.ts'
import { readChatReply } from './read-reply.ts'
import { ChatReplyReader } from './read-reply-stream.ts'
import { readOpenAIError } from './refusal.ts'
import { searchCallsOf } from './usage.ts'
import { writeConversation } from './write-conversation.ts'
import { writeChatReply } from './write-reply.ts'
import { ChatReplyWriter } from './write-reply-stream.ts'

export const chatClient: ClientFormat = {
  readRequest: readConversation,
  writeReply: writeChatReply,
  openWriter: (served, body) => new ChatReplyWriter(served, body),
}

export const chatUpstream: UpstreamFormat = {
  writeRequest: writeConversation,
  readReply: readChatReply,
  openReader: (target) => new ChatReplyReader(target),
  impliedToolCalls: (conversation, target) => searchCallsOf(target, conversation.webSearch?.contextSize ?? null),
  readRefusal: readOpenAIError,
}
