import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { type AddressInfo, type Socket, Server as SocketServer } from 'node:net'
import { GatewayError, stoppingError } from '../../../errors/gateway-error.ts'
import type { HttpMiddleware } from '../../../http/context.ts'
import { errorStatusOf } from '../../../http/error-table.ts'
import { errorBodyAt } from '../../../http/errors.ts'
import type { CertificateFiles } from '../../../runtime/certificate.ts'
import type { NewId } from '../../../runtime/clock.ts'
import { Counts } from '../../../runtime/fair-shares.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import { WorkTurns } from '../../../runtime/work-turns.ts'
import { listenerLimits } from './limits.ts'
import { requestIdHeaders } from './middleware.ts'
import { openHttpServer } from './tls.ts'

const groupsOfNetwork = 4
const groupsOfAddress = 8

const groupsIn = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))

/** An IPv4 address as is; of an IPv6 address its /64, which is what one caller usually has. */
export const clientAddressOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [front = '', back = ''] = address.split('::')
  const [before, after] = [groupsIn(front), groupsIn(back)]
  const between = Array.from({ length: groupsOfAddress - before.length - after.length }, () => '0')
  return [...before, ...between, ...after].slice(0, groupsOfNetwork).join(':')
}

/** Closes at once the connections of an address beyond its bound. */
const limitAddresses = (server: Server, connectionsMax: number): void => {
  const open = new Counts()
  server.prependListener('connection', (socket) => {
    const caller = clientAddressOf(socket.remoteAddress ?? '')
    open.add(caller)
    socket.once('close', () => open.remove(caller))
    if (open.of(caller) > connectionsMax) socket.destroy()
  })
}

/**
 * Closing a connection while its client sends would lose the response, so the rest of a body is discarded: for all of
 * them together so many pieces a turn, since a few large bodies would take all the time of the process. A connection
 * that waits is bounded as any other: one that is ended early may carry the client's next request.
 */
class UnreadBodies {
  /** The one that has waited longest for a piece comes first. */
  readonly #waiting = new Set<IncomingMessage>()
  #turns: NodeJS.Timeout | undefined

  constructor(server: Server) {
    server.prependListener('request', (request, response) => {
      response.prependListener('finish', () => {
        if (!request.complete) this.#discard(request)
      })
    })
  }

  close(): void {
    for (const request of this.#waiting) request.destroy()
  }

  #discard(request: IncomingMessage): void {
    this.#waiting.add(request)
    request.pause().on('data', () => request.pause())
    request.once('close', () => this.#waiting.delete(request))
    request.read(0) // Otherwise Node itself drains a body that was never read.
    this.#turns ??= setInterval(() => this.#takeTurn(), listenerLimits.discardTurnMs).unref()
  }

  #takeTurn(): void {
    // Node destroys no request whose response has finished, so that its `close` never comes where the client has gone.
    for (const request of this.#waiting) if (request.socket.destroyed) this.#waiting.delete(request)
    for (const request of [...this.#waiting].slice(0, listenerLimits.discardPiecesMax)) {
      this.#waiting.delete(request)
      this.#waiting.add(request)
      request.resume()
    }
    if (this.#waiting.size > 0) return
    clearInterval(this.#turns)
    this.#turns = undefined
  }
}

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
const answerClientError = (server: Server, newId: NewId): void => {
  const responses = new WeakMap<Socket, ServerResponse>()
  server.prependListener('request', (request, response) => responses.set(request.socket, response))
  server.on('clientError', (fault: NodeJS.ErrnoException, socket: Socket) => {
    const response = responses.get(socket)
    if (socket.writable && isOwed(response) && fault.code !== 'ECONNRESET')
      socket.write(responseText(refusalOf(fault.code), pathOf(response), newId()))
    socket.destroySoon()
  })
}

/** As presented, and not checked yet. */
const credentialOf = ({ headers }: IncomingMessage): string =>
  String(headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? '')

/** Of requests that arrive together so many are handled in one turn of the event loop, in turn between credentials. */
const handleInTurns = (handler: RequestListener): RequestListener => {
  const turns = new WorkTurns(listenerLimits.requestsPerTurn)
  return (request, response) => {
    const turn = turns.take(credentialOf(request))
    if (turn === undefined) return handler(request, response)
    return turn.then(() => (response.closed ? undefined : handler(request, response)))
  }
}

/** `leaving`: requests are served and each response ends its connection; `stopping`: requests are refused. */
export type ListenerPhase = 'open' | 'leaving' | 'stopping'

type ListenerBounds = Parameters<typeof openHttpServer>[3]['bounds'] & {
  readonly headersTimeoutMs: number
  readonly requestBodyTimeoutMs: number
  readonly slowClientsCheckMs: number
  readonly idleConnectionMs: number
  readonly headersBytesMax: number
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
}

interface ListenerParts {
  readonly handler: (phase: () => ListenerPhase) => RequestListener
  readonly bounds: ListenerBounds
  readonly newId: NewId
  readonly logger: Logger
  readonly tls: CertificateFiles | undefined
}

const idleCheckMs = 50

const openServer = (
  handler: RequestListener,
  { bounds, newId, logger, tls }: ListenerParts,
): ReturnType<typeof openHttpServer> => {
  const opened = openHttpServer(
    {
      headersTimeout: bounds.headersTimeoutMs,
      requestTimeout: bounds.requestBodyTimeoutMs,
      connectionsCheckingInterval: bounds.slowClientsCheckMs,
      keepAliveTimeout: bounds.idleConnectionMs,
      maxHeaderSize: bounds.headersBytesMax,
      insecureHTTPParser: false, // Whatever flags Node was started with.
      requireHostHeader: false, // Node's answer has no body and no id; `refuseMalformed` refuses the request.
    },
    handleInTurns(handler),
    tls,
    { bounds, logger },
  )
  const { server } = opened
  server.maxHeadersCount = 0 // Node would drop the headers beyond it; `refuseMalformed` refuses the request.
  server.on('checkExpectation', (...exchange) => server.emit('request', ...exchange)) // As with the host: `refuseMalformed`.
  server.maxConnections = bounds.connectionsMax
  limitAddresses(server, bounds.connectionsPerAddressMax)
  answerClientError(server, newId)
  return opened
}

export class HttpListener {
  readonly #server: Server
  readonly #opened: ReturnType<typeof openServer>
  readonly #unread: UnreadBodies
  #closed: Promise<void> | null = null
  #isStopping = false

  constructor(parts: ListenerParts) {
    this.#opened = openServer(
      parts.handler(() => this.phase),
      parts,
    )
    this.#server = this.#opened.server
    this.#unread = new UnreadBodies(this.#server)
  }

  /** Resolves once connections are accepted; port 0 takes a free one. Rejects where the port is in use. */
  async listen(host: string, port: number): Promise<{ readonly url: string; readonly port: number }> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    const { port: opened } = this.#server.address() as AddressInfo
    return { url: `${this.#opened.scheme}://${host.includes(':') ? `[${host}]` : host}:${opened}`, port: opened }
  }

  get phase(): ListenerPhase {
    if (this.#closed !== null) return 'stopping'
    return this.#isStopping ? 'leaving' : 'open'
  }

  /** Requests that arrive from here on are still served: load balancers may not have noticed yet. */
  stopAccepting(): void {
    this.#isStopping = true
  }

  /**
   * New connections go to the other processes of the same socket; on open ones requests are still served. Resolves when
   * these have ended. Node's HTTP server would close idle ones at once, on which a request may be on its way.
   */
  stopListening(): Promise<void> {
    return new Promise((resolve) => SocketServer.prototype.close.call(this.#server, () => resolve()))
  }

  connections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#server.getConnections((fault, count) => (fault === null ? resolve(count) : reject(fault))),
    )
  }

  /** Accepts no new connection; resolves when the requests in flight are finished. */
  drain(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Closes the connections that a drain has left open after so many milliseconds. */
  async abortOpen(afterMs: number): Promise<void> {
    const closed = this.drain()
    await waitAtMost(closed, afterMs)
    this.#server.closeAllConnections()
    await closed
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#opened.close()
    const closeIdle = setInterval(() => {
      this.#unread.close()
      this.#server.closeIdleConnections()
    }, idleCheckMs)
    await closed
    clearInterval(closeIdle)
  }
}

/** Refuses new requests while the process stops; from `leaving` on, every response ends its connection. */
export const refuseWhileStopping =
  (phase: () => ListenerPhase): HttpMiddleware =>
  async (ctx, next) => {
    if (phase() !== 'open') ctx.set('Connection', 'close') // Before a stream sends its head.
    try {
      if (phase() === 'stopping') throw stoppingError()
      await next()
    } finally {
      if (phase() !== 'open' && !ctx.res.headersSent) ctx.set('Connection', 'close')
    }
  }
