import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sharedLimits } from '../runtime/limits.ts'

const urlOf = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

export interface PlainListenerOptions {
  readonly connectionsMax: number
  readonly requestTimeoutMs: number
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

/** HTTP for a few known callers: no framework, tight bounds. */
export class PlainListener {
  readonly #server: Server

  constructor({ connectionsMax, requestTimeoutMs, answer }: PlainListenerOptions) {
    this.#server = createServer({
      headersTimeout: Math.min(sharedLimits.headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: sharedLimits.slowClientsCheckMs,
      maxHeaderSize: sharedLimits.headersBytesMax,
      insecureHTTPParser: false,
    })
    this.#server.maxConnections = connectionsMax
    this.#server.on('request', (request, response) => void answer(request, response))
  }

  /** Resolves with the URL. Rejects where the port is taken. */
  async listen(host: string, port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    return urlOf(host, (this.#server.address() as AddressInfo).port)
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }
}
