import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { errorStatusOf } from '../../../http/error-table.ts'
import { errorBodyAt } from '../../../http/errors.ts'
import type { NewId } from '../../../runtime/clock.ts'
import { requestIdHeaders } from './request-id.ts'

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

/** The path of the unanswered request on the socket; empty where there is none. */
const pathOf = (response: ServerResponse | undefined): string =>
  response === undefined || response.writableFinished ? '' : (response.req.url?.split('?', 1)[0] ?? '')

const responseText = (refusal: GatewayError, path: string, requestId: string): string => {
  const body = JSON.stringify(errorBodyAt(path, refusal, requestId))
  const status = errorStatusOf(refusal)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...requestIdHeaders.map((name) => `${name}: ${requestId}`),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

/**
 * Whether an error response may be sent now: while another response is due, the client would take one for the other. Of
 * pipelined requests only the first unanswered one has its response on the socket.
 */
const isOwed = (response: ServerResponse | undefined): boolean => {
  if (response === undefined) return true
  if (response.req.complete) return response.writableFinished
  return response.socket !== null && !response.headersSent
}

/** Answers what is no valid request, unless the connection owes another response first or has begun this one. */
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
