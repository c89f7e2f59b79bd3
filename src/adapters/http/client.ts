import { Agent } from 'undici'
import type { HttpClient, HttpRequest, HttpResponse } from '../../providers/http.ts'
import { Exchange } from './exchange.ts'
import { httpClientLimits } from './limits.ts'

/** The way to every provider: one pool of kept-alive HTTP/1.1 connections for each origin. */
export class UndiciClient implements HttpClient {
  readonly #agent = new Agent({
    connections: httpClientLimits.upstreamConnectionsMax,
    pipelining: 1,
    allowH2: false, // One broken connection must not break the calls of others.
    connect: { timeout: httpClientLimits.upstreamConnectMs },
    keepAliveTimeout: httpClientLimits.upstreamKeepAliveMs,
    keepAliveMaxTimeout: httpClientLimits.upstreamKeepAliveMs,
    headersTimeout: 0, // An exchange keeps its own time.
    bodyTimeout: 0,
  })

  request(request: HttpRequest): Promise<HttpResponse> {
    const { origin, pathname, search } = new URL(request.url)
    const exchange = new Exchange(request)
    this.#agent.dispatch(
      {
        origin,
        path: pathname + search,
        method: request.method,
        headers: { ...request.headers, 'accept-encoding': 'identity' },
        body: request.body ?? null,
      },
      exchange,
    )
    return exchange.head
  }

  /** Ends every connection; exchanges under way fail with HttpFault `network`. */
  async stop(): Promise<void> {
    await this.#agent.destroy()
  }
}
