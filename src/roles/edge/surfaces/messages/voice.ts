import { messagesErrorBody } from '../../middleware/errors.ts'
import type { Voice } from '../voice.ts'

const ping = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

/** What the messages surface says within the stream of a request. */
export const messagesVoice = (requestId: string): Voice => ({
  keepAlive: ping,
  errorEvent: (error) => Buffer.from(`event: error\ndata: ${JSON.stringify(messagesErrorBody(error, requestId))}\n\n`),
})
