import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpMiddleware } from '../../../http/context.ts'
import type { NewId } from '../../../runtime/clock.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import { answerClientError } from './client-error.ts'
import { limitAddresses } from './limit-addresses.ts'
import { UnreadBodies } from './unread-bodies.ts'

/** `leaving`: requests are served and each response ends its connection; `stopping`: requests are refused. */
export type ListenerPhase = 'open' | 'leaving' | 'stopping'

export interface ListenerBounds {
  readonly headersTimeoutMs: number
  readonly requestBodyTimeoutMs: number
  readonly slowClientsCheckMs: number
  readonly idleConnectionMs: number
  readonly headersBytesMax: number
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
}

export interface ListenerParts {
  readonly handler: (phase: () => ListenerPhase) => RequestListener
  readonly bounds: ListenerBounds
  readonly newId: NewId
}

const idleCheckMs = 50

const openServer = (handler: RequestListener, bounds: ListenerBounds, newId: NewId): Server => {
  const server = createServer(
    {
      headersTimeout: bounds.headersTimeoutMs,
      requestTimeout: bounds.requestBodyTimeoutMs,
      connectionsCheckingInterval: bounds.slowClientsCheckMs,
      keepAliveTimeout: bounds.idleConnectionMs,
      maxHeaderSize: bounds.headersBytesMax,
      insecureHTTPParser: false, // Whatever flags Node was started with.
      requireHostHeader: false, // Node's answer has no body and no id; `refuseAmbiguous` refuses the request.
    },
    handler,
  )
  server.maxHeadersCount = 0 // Node would drop the headers beyond it; `refuseAmbiguous` refuses the request.
  server.on('checkExpectation', (...exchange) => server.emit('request', ...exchange)) // As with the host: `refuseExpectation`.
  server.maxConnections = bounds.connectionsMax
  limitAddresses(server, bounds.connectionsPerAddressMax)
  answerClientError(server, newId)
  return server
}

export class HttpListener {
  readonly #server: Server
  readonly #unread: UnreadBodies
  #closed: Promise<void> | null = null
  #isStopping = false

  constructor({ handler, bounds, newId }: ListenerParts) {
    this.#server = openServer(
      handler(() => this.phase),
      bounds,
      newId,
    )
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
    return { url: `http://${host.includes(':') ? `[${host}]` : host}:${opened}`, port: opened }
  }

  get phase(): ListenerPhase {
    if (this.#closed !== null) return 'stopping'
    return this.#isStopping ? 'leaving' : 'open'
  }

  /** Requests that arrive from here on are still served: load balancers may not have noticed yet. */
  stopAccepting(): void {
    this.#isStopping = true
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
    const closeIdle = setInterval(() => {
      this.#unread.close()
      this.#server.closeIdleConnections()
    }, idleCheckMs)
    await closed
    clearInterval(closeIdle)
  }
}

const stopping = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Send the request again.', {
    retryAfterSeconds: 1,
  })

/** Refuses new requests while the process stops; from `leaving` on, every response ends its connection. */
export const refuseWhileStopping =
  (phase: () => ListenerPhase): HttpMiddleware =>
  async (ctx, next) => {
    try {
      if (phase() === 'stopping') throw stopping()
      await next()
    } finally {
      if (phase() !== 'open' && !ctx.res.headersSent) ctx.set('Connection', 'close')
    }
  }
