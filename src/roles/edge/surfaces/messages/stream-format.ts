import { messagesErrorBody } from '../../middleware/errors.ts'
import type { StreamFormat } from '../stream-format.ts'

const ping = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

/** What the messages surface says within the stream of a request. */
export const messagesStreamFormat = (requestId: string): StreamFormat => ({
  keepAlive: ping,
  errorEvent: (error) => Buffer.from(`event: error\ndata: ${JSON.stringify(messagesErrorBody(error, requestId))}\n\n`),
})
