import type { ClientFormat } from '../canonical/format.ts'
import { readRequest } from './read-request.ts'
import { MessagesWriter } from './reply-writer.ts'
import { writeMessagesReply } from './write-reply.ts'

export const messagesClient: ClientFormat = {
  readRequest,
  writeReply: writeMessagesReply,
  openWriter: (served) => new MessagesWriter(served),
}
