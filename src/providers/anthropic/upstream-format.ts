import type { UpstreamFormat } from '../canonical/format.ts'
import { readMessagesReply } from './read-reply.ts'
import { readMessagesError } from './refusal.ts'
import { MessagesReader } from './reply-reader.ts'
import { writeRequest } from './write-request.ts'

export const messagesUpstream: UpstreamFormat = {
  writeRequest,
  readReply: readMessagesReply,
  openReader: () => new MessagesReader(),
  readRefusal: readMessagesError,
}
