import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { NewId } from '../../runtime/clock.ts'
import { errorBodyAt } from './middleware/errors.ts'
import { requestIdHeaders } from './middleware/request-id.ts'

const refusalOf = (code: string | undefined): GatewayError => {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('invalid_request', 'The request took too long to arrive.', { status: 408 })
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('invalid_request', 'The request headers are too large.', { status: 431 })
    default:
      return new GatewayError('invalid_request', 'This is not a valid HTTP request.')
  }
}

/** Of the request that is not answered yet; empty where there is none. */
const pathOf = (response: ServerResponse | undefined): string =>
  response === undefined || response.writableFinished ? '' : (response.req.url?.split('?', 1)[0] ?? '')

const responseText = (refusal: GatewayError, path: string, requestId: string): string => {
  const body = JSON.stringify(errorBodyAt(path, refusal, requestId))
  return [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...requestIdHeaders.map((name) => `${name}: ${requestId}`),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

/**
 * Whether what broke is owed an answer now: another one's would be taken for it, or it for another one's. Of requests behind each other
 * only the first that is not answered has its response on the socket.
 */
const isOwed = (response: ServerResponse | undefined): boolean => {
  if (response === undefined) return true
  if (response.req.complete) return response.writableFinished
  return response.socket !== null && !response.headersSent
}

/** Answers what never became a request, or stopped being one, unless the connection owes another answer first or has begun this one. */
export const answerClientError = (server: Server, newId: NewId): void => {
  const responses = new WeakMap<Socket, ServerResponse>()
  server.prependListener('request', (request, response) => responses.set(request.socket, response))
  server.on('clientError', (fault: NodeJS.ErrnoException, socket: Socket) => {
    const response = responses.get(socket)
    if (socket.writable && isOwed(response) && fault.code !== 'ECONNRESET')
      socket.write(responseText(refusalOf(fault.code), pathOf(response), newId()))
    socket.destroySoon()
  })
}
