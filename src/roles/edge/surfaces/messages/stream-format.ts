import { messagesErrorBody } from '../../middleware/errors.ts'
import type { StreamFormat } from '../stream-format.ts'

const ping = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

export const messagesStreamFormat = (requestId: string): StreamFormat => ({
  keepAlive: ping,
  errorEvent: (error) => Buffer.from(`event: error\ndata: ${JSON.stringify(messagesErrorBody(error, requestId))}\n\n`),
})
